package mcpmgr

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

const (
	authTime    = 10 * time.Minute // for a person to finish in the browser
	authPage    = 30 * time.Second // for one request to an authorization server
	maxMetadata = 1 << 20
)

// Authorize runs the OAuth authorization code flow for an HTTP server and keeps the tokens, then
// connects the server anew. It is to be called by the user's own act alone: nothing in this
// package starts it, no call and no round. open shows a person the address of the authorization
// server, or opens it in a browser; the answer comes to a listener on the loopback interface.
func (m *Manager) Authorize(ctx context.Context, server string, open func(ctx context.Context, address string) error) error {
	return m.authorize(ctx, server, nil, open)
}

// AuthorizeAnyway is Authorize for a server that asks for it only where nobody has been refused yet, as some do for some
// of their tools. scopes are asked for beside those that the server names.
func (m *Manager) AuthorizeAnyway(ctx context.Context, server string, scopes []string, open func(ctx context.Context, address string) error) error {
	return m.authorize(ctx, server, &wanted{scopes}, open)
}

// wanted is what a person wants of an authorization that the server does not ask for.
type wanted struct{ scopes []string }

func (m *Manager) authorize(ctx context.Context, server string, want *wanted, open func(ctx context.Context, address string) error) error {
	v := m.server(server)
	switch {
	case v == nil:
		return fmt.Errorf("no server %q is configured", server)
	case v.cfg.Transport != config.HTTP:
		return fmt.Errorf("server %q is a local process, which takes no authorization", server)
	case open == nil:
		return fmt.Errorf("server %q wants authorization, which needs a person and a browser", server)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, authTime, errors.New("nobody finished the authorization in time"))
	defer cancel()
	req, resp, err := v.challenge(ctx, want != nil)
	if err != nil {
		return err
	}
	back, err := listenBack()
	if err != nil {
		_ = resp.Body.Close()
		return err
	}
	defer back.close()
	flow := m.auths.flow(v.cfg.URL, m.opt.Name, back, open)
	flow.ScopeFilter = func(found []string) []string {
		found = union(found, v.missingScopes())
		if want != nil {
			found = union(found, want.scopes)
		}
		return found
	}
	h, err := auth.NewAuthorizationCodeHandler(flow)
	if err != nil {
		_ = resp.Body.Close()
		return fmt.Errorf("authorization cannot start: %w", err)
	}
	if err := h.Authorize(ctx, req, resp); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if strings.Contains(err.Error(), "no configured client registration methods") { // go-sdk's, which a person cannot act on
			err = errors.New("the authorization server takes no programs that it does not know; if it gives you a token in another way, put it into the headers of the server's entry")
		}
		return fmt.Errorf("authorization failed: %w", err)
	}
	v.challenged.Store(nil)
	v.reconnect()
	return nil
}

// missingScopes are the scopes that the last refusal asked for, and those that were given before.
func (v *server) missingScopes() []string {
	e := v.challenged.Load()
	if e == nil || len(e.scopes()) == 0 {
		return nil
	}
	var given []string
	if g, err := v.mgr.auths.load(v.cfg.URL); err == nil && g != nil {
		given = g.Scopes
	}
	return union(given, e.scopes())
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Deauthorize forgets what Authorize kept for a server.
func (m *Manager) Deauthorize(server string) error {
	v := m.server(server)
	if v == nil {
		return fmt.Errorf("no server %q is configured", server)
	}
	if err := m.auths.forget(v.cfg.URL); err != nil {
		return err
	}
	v.reconnect()
	return nil
}

// challenge gets the reply with which the server asks for authorization. anyway stands for one where it does not.
func (v *server) challenge(ctx context.Context, anyway bool) (*http.Request, *http.Response, error) {
	s := v.newSession()
	defer s.cancel(nil)
	cfg := v.cfg
	l, err := newHTTPLink(cfg, nil, peerEvents{})
	if err != nil {
		return nil, nil, err
	}
	defer l.close()
	params := (&builder{}).add("_meta", s.meta([]byte("{}"), "")).bytes()
	r := &request{id: 1, method: "server/discover", params: params, modern: true, version: modernVersions[0]}
	req, err := l.post(ctx, r, encodeRequest(r.id, r.method, r.params))
	if err != nil {
		return nil, nil, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, nil, plainHTTPError(err)
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return req, resp, nil
	}
	_ = resp.Body.Close()
	e := v.challenged.Load() // a server may ask only for some of its methods
	if e == nil {
		e = l.unauthorized(resp)
	}
	switch {
	case e.status == http.StatusUnauthorized, len(e.scopes()) > 0:
		return req, &http.Response{StatusCode: e.status, Header: e.header, Body: http.NoBody}, nil
	case anyway:
		return req, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}, nil
	case e.status == http.StatusForbidden:
		return nil, nil, errors.New("the server refuses access (403) and does not say that an authorization would change that")
	}
	return nil, nil, fmt.Errorf("the server asks for no authorization (it answers %s)", statusText(resp.StatusCode))
}

// flow configures go-sdk's authorization code handler: dynamic registration as a public client,
// PKCE, and tokens that end up in the store.
func (a *authStore) flow(endpoint, name string, back *callback, open func(context.Context, string) error) *auth.AuthorizationCodeHandlerConfig {
	return &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         back.address,
		RequestRefreshToken: true,
		Client:              &http.Client{Timeout: authPage, Transport: cappedTransport{http.DefaultTransport}},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: name, RedirectURIs: []string{back.address}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.fetch(ctx, args.URL, open)
		},
		NewTokenSource: func(ctx context.Context, cfg *oauth2.Config, tok *oauth2.Token) (oauth2.TokenSource, error) {
			g := grantOfToken(cfg, tok)
			if err := a.save(endpoint, g); err != nil {
				return nil, err
			}
			return a.source(ctx, endpoint, g), nil
		},
	}
}

// cappedTransport bounds the bodies that authorization servers send.
type cappedTransport struct{ base http.RoundTripper }

func (t cappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxMetadata), resp.Body}
	}
	return resp, err
}

// callback is the listener that the browser comes back to.
type callback struct {
	address string
	server  *http.Server
	served  chan struct{}
	came    chan url.Values
	state   chan string // what the next answer must bear
}

func listenBack() (*callback, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port for the browser's answer: %w", err)
	}
	c := &callback{address: "http://" + ln.Addr().String() + "/callback", served: make(chan struct{}), came: make(chan url.Values, 1), state: make(chan string, 1)}
	c.server = &http.Server{Handler: http.HandlerFunc(c.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { // ends with close
		defer close(c.served)
		_ = c.server.Serve(ln)
	}()
	return c, nil
}

func (c *callback) close() {
	_ = c.server.Close()
	<-c.served
}

// serve takes the first answer that bears the right state; others change nothing.
func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != "/callback" {
		http.NotFound(w, r)
		return
	}
	select {
	case want := <-c.state:
		if q.Get("state") != want {
			c.state <- want
			http.Error(w, "This is not the answer that askback waits for.", http.StatusBadRequest)
			return
		}
	default:
		http.Error(w, "askback waits for no answer.", http.StatusBadRequest)
		return
	}
	text := "askback is authorized. You can close this window."
	if e := q.Get("error"); e != "" {
		text = "The authorization was refused (" + clipText(e, 80) + "). You can close this window."
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	_, _ = io.WriteString(w, "<!doctype html><title>askback</title><p>"+html.EscapeString(text)+"</p>\n")
	c.came <- q
}

// fetch shows a person the address and waits for the browser's answer.
func (c *callback) fetch(ctx context.Context, address string, open func(context.Context, string) error) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, errors.New("the authorization server's address is neither https nor on this machine")
	}
	c.state <- u.Query().Get("state")
	if err := open(ctx, address); err != nil {
		return nil, fmt.Errorf("the authorization page was not opened: %w", err)
	}
	select {
	case q := <-c.came:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("it was refused: %s", clipText(e+" "+q.Get("error_description"), 200))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
