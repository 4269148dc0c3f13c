package mcpmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/oauth2"
)

const (
	maxErrorBody = 1 << 20                // of a reply with an error status
	drainTime    = 100 * time.Millisecond // to find the end of a stream after the reply in it
	sideTime     = 5 * time.Second        // for a notification or an answer on the side
	maxRedirects = 3
)

// httpLink is a link over streamable HTTP. Every request is a POST of its own, so that one odd
// reply spoils nothing but its request; there is no connection to lose, only requests.
type httpLink struct {
	endpoint *url.URL
	headers  []config.Pair
	client   *http.Client
	auth     auth.OAuthHandler // nil: none
	ev       peerEvents

	ctx    context.Context
	cancel context.CancelCauseFunc
	side   sync.WaitGroup // cancellations and answers under way
	busy   atomic.Int32

	mu      sync.Mutex
	session string // of a legacy server
	version string // negotiated with a legacy server
	closed  bool
}

func newHTTPLink(cfg config.Server, h auth.OAuthHandler, ev peerEvents) (*httpLink, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	l := &httpLink{endpoint: u, headers: cfg.Headers, client: newHTTPClient(u), auth: h, ev: ev}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l, nil
}

// newHTTPClient makes a client with a pool of its own that goes to no other host.
func newHTTPClient(endpoint *url.URL) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 64
	t.IdleConnTimeout = 60 * time.Second
	t.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{
		Transport: t,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || req.Method != via[0].Method || req.URL.Scheme != endpoint.Scheme || req.URL.Host != endpoint.Host {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// rpcStatus is a JSON-RPC error with the HTTP status that it came with.
type rpcStatus struct {
	err    *jsonrpc.Error
	status int
}

func (e *rpcStatus) Error() string { return e.err.Error() }
func (e *rpcStatus) Unwrap() error { return e.err }

func (l *httpLink) do(ctx context.Context, req *request) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, &errNotSent{context.Cause(ctx)}
	}
	if l.ctx.Err() != nil {
		return nil, &errNotSent{context.Cause(l.ctx)}
	}
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	result, sent, err := l.exchange(rctx, cancel, req)
	if err != nil && !isRPC(err) && rctx.Err() != nil {
		cause := context.Cause(rctx)
		if !sent {
			return nil, &errNotSent{cause}
		}
		if !req.modern && ctx.Err() != nil && req.method != "initialize" {
			l.cancelOnSide(req.id) // modern: closing the stream is the cancellation
		}
		return nil, &errLost{cause}
	}
	if e, ok := errors.AsType[*errLost](err); ok && !sent {
		return nil, &errNotSent{e.err}
	}
	return result, err
}

// exchange posts req and reads up to its reply. sent reports whether any of it can have left.
func (l *httpLink) exchange(ctx context.Context, cancel context.CancelCauseFunc, req *request) (result json.RawMessage, sent bool, err error) {
	body := encodeRequest(req.id, req.method, req.params)
	var wrote atomic.Bool
	tctx := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { wrote.Store(true) }})
	hreq, err := l.post(tctx, req, body)
	if err != nil {
		return nil, false, err
	}
	if l.ev.tap != nil {
		l.ev.tap(Sent, req, strconv.FormatInt(req.id, 10), req.method, false, req.params, nil, nil)
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return nil, wrote.Load(), &errLost{&errConn{plainHTTPError(err)}}
	}
	defer resp.Body.Close()
	if req.method == "initialize" && resp.StatusCode == http.StatusOK {
		l.mu.Lock()
		l.session = resp.Header.Get("Mcp-Session-Id")
		l.mu.Unlock()
	}
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		return nil, true, l.refused(req, resp)
	case typ == "application/json":
		result, err = l.readJSON(req, resp.Body)
	case typ == "text/event-stream":
		result, err = l.readStream(ctx, req, resp.Body)
		if err == nil || isRPC(err) {
			drain(resp.Body, cancel)
		}
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		err = &errBadReply{"the server accepted the request but sent no reply"}
	default:
		err = &errBadReply{fmt.Sprintf("the server's reply is %s, not JSON or an event stream", describeType(typ))}
	}
	return result, true, err
}

func isRPC(err error) bool { _, ok := errors.AsType[*jsonrpc.Error](err); return ok }

func describeType(typ string) string {
	if typ == "" {
		return "of no type"
	}
	return clipText(typ, 60)
}

// drain reads to the end of a stream whose reply is already here, so that its connection can be
// used again; a stream that the server leaves open is dropped.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 64<<10)
}

// post builds the HTTP request for one message. req may be nil, for what is not a request.
func (l *httpLink) post(ctx context.Context, req *request, body []byte) (*http.Request, error) {
	hreq, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := l.commonHeaders(ctx, hreq); err != nil {
		return nil, err
	}
	h := hreq.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if req == nil || !req.modern {
		return hreq, nil
	}
	h.Set("Mcp-Protocol-Version", req.version)
	h.Set("Mcp-Method", req.method)
	switch req.method {
	case "tools/call", "prompts/get", "resources/read":
		h.Set("Mcp-Name", headerValue(req.name))
	}
	for _, x := range req.extra {
		h[http.CanonicalHeaderKey(x.Name)] = []string{x.Value}
	}
	return hreq, nil
}

// commonHeaders sets what every HTTP request to this server carries.
func (l *httpLink) commonHeaders(ctx context.Context, hreq *http.Request) error {
	for _, x := range l.headers {
		hreq.Header.Set(x.Name, x.Value)
	}
	l.mu.Lock()
	session, version := l.session, l.version
	l.mu.Unlock()
	if version != "" {
		hreq.Header.Set("Mcp-Protocol-Version", version)
	}
	if session != "" {
		hreq.Header.Set("Mcp-Session-Id", session)
	}
	if l.auth == nil || hreq.Header.Get("Authorization") != "" {
		return nil
	}
	ts, err := l.auth.TokenSource(ctx)
	if err != nil || ts == nil {
		return nil
	}
	tok, err := ts.Token()
	if err != nil {
		if _, refused := errors.AsType[*oauth2.RetrieveError](err); !refused && ctx.Err() == nil {
			return &errNotSent{&errConn{errors.New("the authorization server cannot be reached to renew the token")}}
		}
		return &errAuth{"the stored authorization is no longer accepted; authorize again"}
	}
	tok.SetAuthHeader(hreq)
	return nil
}

// setLegacy records what initialize negotiated; every later request bears it.
func (l *httpLink) setLegacy(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

func (l *httpLink) readJSON(req *request, body io.Reader) (json.RawMessage, error) {
	raw, err := readCapped(body, MaxMessage)
	if err != nil {
		return nil, err
	}
	m, err := parseMessage(raw)
	if err != nil {
		return nil, &errBadReply{"the server's reply cannot be used: " + err.Error()}
	}
	if !m.response() {
		return nil, &errBadReply{"the server's reply is not a reply"}
	}
	return l.reply(req, m, false)
}

func readCapped(body io.Reader, limit int) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if len(raw) > limit {
		return nil, &errTooLarge{fmt.Sprintf("the server's reply is over the limit of %d bytes", limit)}
	}
	if err != nil {
		return nil, &errLost{&errConn{errors.New("the server's reply broke off")}}
	}
	return raw, nil
}

// reply checks that m answers req and takes it apart. An error may come without an id.
func (l *httpLink) reply(req *request, m *message, errorStatus bool) (json.RawMessage, error) {
	if id, ok := m.number(); !ok || id != req.id {
		if m.id != nil || m.err == nil || !errorStatus {
			return nil, &errBadReply{"the server's reply is to another request"}
		}
	}
	if l.ev.tap != nil {
		var errRaw json.RawMessage
		if m.err != nil {
			errRaw, _ = json.Marshal(m.err)
		}
		l.ev.tap(Received, req, strconv.FormatInt(req.id, 10), req.method, true, nil, m.result, errRaw)
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.result, nil
}

func (l *httpLink) readStream(ctx context.Context, req *request, body io.Reader) (json.RawMessage, error) {
	events := newSSEReader(body, MaxMessage)
	if req.opened != nil {
		req.opened()
	}
	for {
		data, err := events.next()
		if err != nil {
			if _, ok := errors.AsType[*errTooLarge](err); ok {
				return nil, err
			}
			return nil, &errLost{&errConn{errors.New("the server's stream ended without a reply")}}
		}
		m, err := parseMessage(data)
		if err != nil {
			return nil, &errBadReply{"an event of the server's stream cannot be used: " + err.Error()}
		}
		if m.response() {
			return l.reply(req, m, false)
		}
		l.incoming(ctx, req, m)
	}
}

// incoming handles a notification or a request of the server's that came on a stream.
func (l *httpLink) incoming(_ context.Context, from *request, m *message) {
	if l.ev.tap != nil {
		l.ev.tap(Received, nil, string(m.id), m.method, false, m.params, nil, nil)
	}
	if m.id == nil {
		l.ev.note(from, m.method, m.params)
		return
	}
	if l.busy.Add(1) > maxAnswering {
		l.busy.Add(-1)
		l.ev.drop("a request of the server: too many of them wait", "method", m.method)
		return
	}
	l.onSide(func() {
		defer l.busy.Add(-1)
		result, code, msg, answer := l.ev.uninvited(l.ctx, from, m.method, m.params)
		if !answer {
			return
		}
		var b builder
		b.add("jsonrpc", []byte(`"2.0"`)).add("id", m.id)
		if code != 0 {
			e, _ := json.Marshal(&jsonrpc.Error{Code: code, Message: msg})
			b.add("error", e)
		} else {
			b.add("result", result)
		}
		if l.ev.tap != nil {
			l.ev.tap(Sent, nil, string(m.id), m.method, true, nil, result, nil)
		}
		ctx, cancel := context.WithTimeout(l.ctx, sideTime)
		defer cancel()
		_ = l.postOnly(ctx, nil, b.bytes())
	})
}

// onSide runs f beside the requests; close waits for it.
func (l *httpLink) onSide(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.side.Go(f)
	}
}

// cancelOnSide tells a legacy server that request id was given up.
func (l *httpLink) cancelOnSide(id int64) {
	l.onSide(func() {
		ctx, cancel := context.WithTimeout(l.ctx, sideTime)
		defer cancel()
		var p builder
		p.add("requestId", strconv.AppendInt(nil, id, 10)).add("reason", quoteString("the client ended the call"))
		_ = l.notify(ctx, "notifications/cancelled", p.bytes())
	})
}

func (l *httpLink) notify(ctx context.Context, method string, params json.RawMessage) error {
	var b builder
	b.add("jsonrpc", []byte(`"2.0"`)).add("method", quoteString(method))
	if params != nil {
		b.add("params", params)
	}
	if l.ev.tap != nil {
		l.ev.tap(Sent, nil, "", method, false, params, nil, nil)
	}
	return l.postOnly(ctx, nil, b.bytes())
}

// postOnly sends what has no reply. Whatever the server says to it changes nothing.
func (l *httpLink) postOnly(ctx context.Context, req *request, body []byte) error {
	hreq, err := l.post(ctx, req, body)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return plainHTTPError(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode >= 300 {
		return &errStatus{resp.StatusCode, "the server answers " + statusText(resp.StatusCode)}
	}
	return nil
}

// refused turns a status of 300 and more into an error, a JSON-RPC one where the body holds it.
func (l *httpLink) refused(req *request, resp *http.Response) error {
	if resp.StatusCode == http.StatusNotFound && !req.modern && req.method != "initialize" && l.hasSession() {
		return &errNotSent{&errConn{errSessionGone}}
	}
	raw, err := readCapped(resp.Body, maxErrorBody)
	if err == nil {
		if m, perr := parseMessage(raw); perr == nil && m.response() && m.err != nil {
			if _, rerr := l.reply(req, m, true); rerr == error(m.err) {
				if resp.StatusCode != http.StatusUnauthorized {
					return &rpcStatus{m.err, resp.StatusCode}
				}
			}
		}
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		return &errAuth{"the server wants authorization (401), which starts only when you ask for it"}
	case code == http.StatusForbidden:
		return &errAuth{"the server refuses access (403)"}
	case code < 400:
		return &errStatus{code, "the server redirects " + redirectTarget(l.endpoint, resp) + ", which is not followed"}
	default:
		return &errStatus{code, "the server answers " + statusText(code)}
	}
}

var errSessionGone = errors.New("the server ended the session")

func (l *httpLink) hasSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != ""
}

func statusText(code int) string {
	if t := http.StatusText(code); t != "" {
		return fmt.Sprintf("%d %s", code, t)
	}
	return strconv.Itoa(code)
}

func redirectTarget(from *url.URL, resp *http.Response) string {
	to, err := resp.Location()
	if err != nil || to.Host == from.Host && to.Scheme == from.Scheme {
		return "(" + statusText(resp.StatusCode) + ")"
	}
	return "to " + clipText(to.Scheme+"://"+to.Host, 100)
}

// plainHTTPError drops the address, which may bear a secret, from the client's error.
func plainHTTPError(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Op == "dial" {
		return fmt.Errorf("the server cannot be reached: %w", oe.Err)
	}
	return err
}

// stream reads a legacy server's GET stream until it ends. opened is called when it has begun.
func (l *httpLink) stream(ctx context.Context, lastID *string, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	hreq, err := http.NewRequestWithContext(ctx, http.MethodGet, l.endpoint.String(), nil)
	if err != nil {
		return err
	}
	if err := l.commonHeaders(ctx, hreq); err != nil {
		return err
	}
	hreq.Header.Set("Accept", "text/event-stream")
	if *lastID != "" {
		hreq.Header.Set("Last-Event-ID", *lastID)
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return plainHTTPError(err)
	}
	defer resp.Body.Close()
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || typ != "text/event-stream" {
		return &errStatus{resp.StatusCode, "the server answers " + statusText(resp.StatusCode)}
	}
	opened()
	events := newSSEReader(resp.Body, MaxMessage)
	for {
		data, err := events.next()
		*lastID = events.id
		if err != nil {
			return err
		}
		if m, err := parseMessage(data); err == nil && !m.response() {
			l.incoming(ctx, nil, m)
		} else {
			l.ev.drop("an event of the server's stream")
		}
	}
}

func (l *httpLink) dead() <-chan struct{} { return l.ctx.Done() }

func (l *httpLink) lost() error { return context.Cause(l.ctx) }

func (l *httpLink) close() {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if !was && session != "" && l.ctx.Err() == nil {
		l.endSession()
	}
	l.cancel(errLinkClosed)
	l.side.Wait()
	l.client.CloseIdleConnections()
}

// endSession tells a legacy server that its session is over.
func (l *httpLink) endSession() {
	ctx, cancel := context.WithTimeout(l.ctx, 2*time.Second)
	defer cancel()
	hreq, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.endpoint.String(), nil)
	if err != nil || l.commonHeaders(ctx, hreq) != nil {
		return
	}
	if resp, err := l.client.Do(hreq); err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		resp.Body.Close()
	}
}

// encodeRequest writes a request; params go in verbatim.
func encodeRequest(id int64, method string, params json.RawMessage) []byte {
	var b builder
	b.b.Grow(len(params) + 128)
	b.add("jsonrpc", []byte(`"2.0"`)).add("id", strconv.AppendInt(nil, id, 10)).add("method", quoteString(method))
	if params != nil {
		b.add("params", params)
	}
	return b.bytes()
}

// sameOrigin reports whether two addresses have scheme and host in common.
func sameOrigin(a, b string) bool {
	ua, err1 := url.Parse(a)
	ub, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && strings.EqualFold(ua.Scheme, ub.Scheme) && strings.EqualFold(ua.Host, ub.Host)
}
