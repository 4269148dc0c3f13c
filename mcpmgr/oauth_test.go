package mcpmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"askback/mcpmgr/config"

	"golang.org/x/oauth2"
)

// authPeer is an MCP server behind its own authorization server.
type authPeer struct {
	*httptest.Server
	p       *peer
	mu      sync.Mutex
	good    string // the access token that is accepted
	issued  atomic.Int32
	refresh atomic.Int32
	lives   int // expires_in

	noRefresh   bool   // it gives no refresh tokens
	rotates     bool   // each refresh token is good for once
	refreshable string // the refresh token that is accepted where they rotate
	down        int    // the status of the token endpoint, where it is not 200
	closed      bool   // it registers no clients
	open        bool   // server/discover needs no token
	lacking     string // the scope that calls lack
	asked       string // the scope of the last authorization
}

// set changes the peer while it serves.
func (a *authPeer) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func newAuthPeer(t *testing.T) *authPeer {
	a := &authPeer{p: newPeer(), lives: 3600}
	mux := http.NewServeMux()
	js := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		ok := a.good != "" && r.Header.Get("Authorization") == "Bearer "+a.good || a.open && r.Header.Get("Mcp-Method") == "server/discover"
		lacking := a.lacking
		a.mu.Unlock()
		if ok && lacking != "" && r.Header.Get("Mcp-Method") == "tools/call" {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+lacking+`"`)
			w.WriteHeader(403)
			return
		}
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(401)
			return
		}
		a.p.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		js(w, map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		meta := map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}
		if !a.closed {
			meta["registration_endpoint"] = a.URL + "/register"
		}
		js(w, meta)
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(201)
		_ = json.NewEncoder(w).Encode(in)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.set(func() { a.asked = q.Get("scope") })
		to, _ := url.Parse(q.Get("redirect_uri"))
		back := url.Values{"state": {q.Get("state")}}
		if q.Get("deny") != "" {
			back.Set("error", "access_denied")
		} else {
			back.Set("code", "code-1")
		}
		to.RawQuery = back.Encode()
		http.Redirect(w, r, to.String(), 302)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		down, spent := a.down, a.rotates && r.PostForm.Get("refresh_token") != a.refreshable
		a.mu.Unlock()
		if down != 0 {
			w.WriteHeader(down)
			return
		}
		if r.PostForm.Get("grant_type") == "refresh_token" {
			a.refresh.Add(1)
			if spent {
				w.WriteHeader(400)
				js(w, map[string]any{"error": "invalid_grant"})
				return
			}
		} else if r.PostForm.Get("code") != "code-1" || r.PostForm.Get("code_verifier") == "" {
			w.WriteHeader(400)
			js(w, map[string]any{"error": "invalid_grant"})
			return
		}
		a.mu.Lock()
		a.good = fmt.Sprintf("TOKEN-%d-SECRET", a.issued.Add(1))
		out := map[string]any{"access_token": a.good, "token_type": "Bearer", "expires_in": a.lives}
		if !a.noRefresh {
			a.refreshable = fmt.Sprintf("REFRESH-%d-SECRET", a.issued.Load())
			out["refresh_token"] = a.refreshable
		}
		a.mu.Unlock()
		js(w, out)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

// browser follows the address like a person who agrees would.
func browser(edit func(string) string) func(context.Context, string) error {
	return func(ctx context.Context, address string) error {
		resp, err := http.Get(edit(address))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

func as(s string) string { return s }

func TestAuthorize(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	a := newAuthPeer(t)
	file := filepath.Join(t.TempDir(), "state", "oauth.json")
	var log syncBuffer
	opt := Options{TokenFile: file, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	cfg := config.Server{Name: "s", Transport: config.HTTP, URL: a.URL + "/mcp"}
	m := startServers(t, opt, cfg)
	if err := m.Wait(t.Context(), "s"); err == nil {
		t.Fatal("ready without authorization")
	}
	st, _ := m.Server("s")
	if !st.NeedsAuth || a.issued.Load() != 0 {
		t.Fatalf("an authorization began by itself: %+v", st)
	}
	if err := m.Authorize(t.Context(), "s", nil); err == nil || !strings.Contains(err.Error(), "needs a person") {
		t.Fatal(err)
	}
	err := m.Authorize(t.Context(), "s", browser(func(s string) string { return s + "&deny=1" }))
	if err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Fatal(err)
	}
	if err := m.Authorize(t.Context(), "s", func(context.Context, string) error { return errors.New("no browser") }); err == nil {
		t.Fatal(err)
	}
	// A stray request to the loopback listener changes nothing.
	stray := func(ctx context.Context, address string) error {
		u, _ := url.Parse(address)
		to := u.Query().Get("redirect_uri")
		for _, s := range []string{to + "?state=wrong&code=evil", strings.Replace(to, "/callback", "/other", 1)} {
			resp, err := http.Get(s)
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode < 400 {
				t.Errorf("%s is accepted", s)
			}
		}
		return browser(as)(ctx, address)
	}
	if err := m.Authorize(t.Context(), "s", stray); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool { st, _ := m.Server("s"); return st.State == StateReady })
	if _, err := callT(t, m, `{}`, Handlers{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if text := log.String() + fmt.Sprint(m.Servers()); strings.Contains(text, "SECRET") || strings.Contains(text, "code-1") {
		t.Fatal("SE-04: a token is in the log or the status")
	}
	m.Close()

	// Another process uses the kept tokens, and renews them when they have expired.
	data, _ := os.ReadFile(file)
	var kept tokenFile
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	kept.Servers[cfg.URL].Token.Expiry = kept.Servers[cfg.URL].Token.Expiry.AddDate(0, 0, -1)
	data, _ = json.Marshal(kept)
	_ = os.WriteFile(file, data, 0o600)
	m = startServers(t, opt, cfg)
	waitReady(t, m, "s")
	if a.refresh.Load() != 1 {
		t.Fatal("the token was not renewed")
	}
	if data, _ = os.ReadFile(file); !bytes.Contains(data, []byte("TOKEN-2-SECRET")) {
		t.Fatalf("the new token was not kept: %s", data)
	}
	// A token that is refused during a call fails the call and starts nothing.
	a.mu.Lock()
	a.good = "other"
	a.mu.Unlock()
	_, err = callT(t, m, `{}`, Handlers{})
	if e := wantCode(t, err, CodeServerError); !strings.Contains(e.Message, "askback authorize s") {
		t.Fatal(e)
	}
	if a.issued.Load() != 2 {
		t.Fatal("a call started an authorization")
	}
	if err := m.Deauthorize("s"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no authorization", func() bool { st, _ := m.Server("s"); return st.NeedsAuth })
	if data, _ = os.ReadFile(file); bytes.Contains(data, []byte("SECRET")) {
		t.Fatalf("%s", data)
	}
}

// authorized is a server with tokens in file, and its peer.
func authorized(t *testing.T, change func(*authPeer)) (a *authPeer, opt Options, cfg config.Server) {
	t.Helper()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	a = newAuthPeer(t)
	change(a)
	opt = Options{TokenFile: filepath.Join(t.TempDir(), "oauth.json")}
	cfg = config.Server{Name: "s", Transport: config.HTTP, URL: a.URL + "/mcp"}
	m := startServers(t, opt, cfg)
	_ = m.Wait(t.Context(), "s")
	if err := m.Authorize(t.Context(), "s", browser(as)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool { st, _ := m.Server("s"); return st.State == StateReady })
	m.Close()
	return a, opt, cfg
}

// expire makes the kept token one of yesterday.
func expire(t *testing.T, opt Options, cfg config.Server) {
	t.Helper()
	s := newAuthStore(opt.TokenFile)
	g, err := s.load(cfg.URL)
	if err != nil || g == nil {
		t.Fatal(g, err)
	}
	g.Token.Expiry = g.Token.Expiry.AddDate(0, 0, -1)
	if err := s.save(cfg.URL, g); err != nil {
		t.Fatal(err)
	}
}

// TestRenewal: a token is renewed when it can be, and the person is asked when it cannot.
func TestRenewal(t *testing.T) {
	status := func(t *testing.T, opt Options, cfg config.Server) ServerStatus {
		m := startServers(t, opt, cfg)
		_ = m.Wait(t.Context(), "s")
		st, _ := m.Server("s")
		m.Close()
		return st
	}
	t.Run("nothing to renew it with", func(t *testing.T) {
		_, opt, cfg := authorized(t, func(a *authPeer) { a.noRefresh = true })
		expire(t, opt, cfg)
		if st := status(t, opt, cfg); !st.NeedsAuth || !strings.Contains(st.Reason, "expired") || !strings.Contains(st.Reason, "askback authorize s") {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("the authorization server is down", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(*authPeer) {})
		expire(t, opt, cfg)
		a.set(func() { a.down = 503 })
		if st := status(t, opt, cfg); st.NeedsAuth || !strings.Contains(st.Reason, "503") || st.Retry.IsZero() {
			t.Fatalf("%+v", st)
		}
		a.set(func() { a.down = 0 })
		if st := status(t, opt, cfg); st.State != StateReady {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("the renewal is refused", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(*authPeer) {})
		expire(t, opt, cfg)
		a.set(func() { a.down = 400 })
		if st := status(t, opt, cfg); !st.NeedsAuth || !strings.Contains(st.Reason, "askback authorize s") {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("refused before its time", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(a *authPeer) { a.lives = 0 }) // and no time is given
		a.set(func() { a.good = "other" })
		if st := status(t, opt, cfg); st.State != StateReady || a.refresh.Load() != 1 {
			t.Fatalf("%+v", st)
		}
		a.set(func() { a.good, a.noRefresh = "other", true })
		opt.TokenFile += ".none"
		if st := status(t, opt, cfg); !st.NeedsAuth || a.refresh.Load() != 1 {
			t.Fatalf("%+v", st)
		}
	})
	t.Run("another process was first", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(a *authPeer) { a.rotates = true })
		expire(t, opt, cfg)
		ours, theirs := newAuthStore(opt.TokenFile), newAuthStore(opt.TokenFile)
		h, g := ours.handler(cfg), theirs.handler(cfg)
		for range 2 {
			for _, h := range []keptAuth{h.(keptAuth), g.(keptAuth)} {
				if tok, err := h.src.Token(); err != nil || tok.AccessToken != "TOKEN-2-SECRET" {
					t.Fatal(err)
				}
			}
		}
		if n := a.refresh.Load(); n != 2 { // one of them in vain
			t.Fatal(n)
		}
	})
	t.Run("authorized anew meanwhile", func(t *testing.T) {
		_, opt, cfg := authorized(t, func(*authPeer) {})
		expire(t, opt, cfg)
		s := newAuthStore(opt.TokenFile)
		h := s.handler(cfg).(keptAuth)
		g, err := s.load(cfg.URL)
		if err == nil {
			err = newAuthStore(opt.TokenFile).save(cfg.URL, g.with(&oauth2.Token{AccessToken: "wider"}))
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.src.Token(); err != nil {
			t.Fatal(err)
		}
		if g, _ := s.load(cfg.URL); g.Token.AccessToken != "wider" {
			t.Fatal("the new authorization is lost")
		}
	})
	t.Run("forgotten meanwhile", func(t *testing.T) {
		_, opt, cfg := authorized(t, func(*authPeer) {})
		expire(t, opt, cfg)
		s := newAuthStore(opt.TokenFile)
		h := s.handler(cfg).(keptAuth)
		if err := s.forget(cfg.URL); err != nil {
			t.Fatal(err)
		}
		_, _ = h.src.Token()
		if data, _ := os.ReadFile(opt.TokenFile); bytes.Contains(data, []byte("SECRET")) {
			t.Fatalf("a forgotten authorization came back: %s", data)
		}
	})
}

// TestAuthorizeLater: a server may ask for authorization, or for more of it, not at once.
func TestAuthorizeLater(t *testing.T) {
	t.Run("for its tools", func(t *testing.T) {
		authorized(t, func(a *authPeer) { a.open = true })
	})
	t.Run("for one call", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(*authPeer) {})
		m := startServers(t, opt, cfg)
		waitReady(t, m, "s")
		gen := bind(t, m, "t").Generation
		a.set(func() { a.lacking = "tools:deploy" })
		_, err := callT(t, m, `{}`, Handlers{})
		if e := wantCode(t, err, CodeServerError); !strings.Contains(e.Message, "scope tools:deploy") {
			t.Fatal(e)
		}
		if err := m.Authorize(t.Context(), "s", browser(as)); err != nil {
			t.Fatal(err)
		}
		a.set(func() {
			if a.asked != "tools:deploy" {
				t.Errorf("asked for %q", a.asked)
			}
			a.lacking = "tools:undo"
		})
		eventually(t, "a call that is refused on the new connection", func() bool {
			st, _ := m.Server("s")
			if st.State != StateReady || st.Generation == gen {
				return false
			}
			_, err := callT(t, m, `{}`, Handlers{})
			return err != nil && strings.Contains(err.Error(), "tools:undo")
		})
		if err := m.Authorize(t.Context(), "s", browser(as)); err != nil {
			t.Fatal(err)
		}
		a.set(func() {
			if got := strings.Fields(a.asked); len(got) != 2 || !slices.Contains(got, "tools:deploy") || !slices.Contains(got, "tools:undo") {
				t.Errorf("asked for %q: what was given before is lost", a.asked)
			}
		})
	})
	t.Run("before anything is refused", func(t *testing.T) {
		a, opt, cfg := authorized(t, func(a *authPeer) { a.open = true })
		m := startServers(t, opt, cfg)
		waitReady(t, m, "s")
		if err := m.Authorize(t.Context(), "s", browser(as)); err == nil || !strings.Contains(err.Error(), "no authorization") {
			t.Fatal(err)
		}
		if err := m.AuthorizeAnyway(t.Context(), "s", []string{"tools:deploy", "b"}, browser(as)); err != nil {
			t.Fatal(err)
		}
		a.set(func() {
			if got := slices.Sorted(slices.Values(strings.Fields(a.asked))); !slices.Equal(got, []string{"b", "tools:deploy"}) { // in any order
				t.Errorf("asked for %q", a.asked)
			}
		})
	})
	t.Run("not at all", func(t *testing.T) {
		p := newPeer().handle("tools/list", func(r *preq) { r.http(403, "", "") })
		m, _ := tryManage(t, "json", p, Options{}, func(*config.Server) {})
		if err := m.Authorize(t.Context(), "s", browser(as)); err == nil || !strings.Contains(err.Error(), "403") {
			t.Fatal(err)
		}
	})
	t.Run("where askback is not known", func(t *testing.T) {
		a := newAuthPeer(t)
		a.closed = true
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: a.URL + "/mcp"})
		_ = m.Wait(t.Context(), "s")
		if err := m.Authorize(t.Context(), "s", browser(as)); err == nil || !strings.Contains(err.Error(), "headers") {
			t.Fatal(err)
		}
	})
	t.Run("a header of the configuration", func(t *testing.T) {
		a := newAuthPeer(t)
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: a.URL + "/mcp", Headers: []config.Pair{{Name: "authorization", Value: "Bearer SECRET"}}})
		_ = m.Wait(t.Context(), "s")
		if st, _ := m.Server("s"); !strings.Contains(st.Reason, "Authorization header of the configuration") || strings.Contains(st.Reason, "SECRET") {
			t.Fatalf("%+v", st)
		}
	})
}

func TestTokenFileOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.json")
	_ = os.WriteFile(file, []byte(`not ours`), 0o600)
	s := newAuthStore(file)
	if err := s.save("http://x", &grant{}); err == nil {
		t.Fatal("a foreign file was overwritten")
	}
	if data, _ := os.ReadFile(file); string(data) != "not ours" {
		t.Fatalf("%s", data)
	}
}
