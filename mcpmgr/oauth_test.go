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
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"askback/mcpmgr/config"
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
		ok := a.good != "" && r.Header.Get("Authorization") == "Bearer "+a.good
		a.mu.Unlock()
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
		js(w, map[string]any{"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
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
		if r.PostForm.Get("grant_type") == "refresh_token" {
			a.refresh.Add(1)
		} else if r.PostForm.Get("code") != "code-1" || r.PostForm.Get("code_verifier") == "" {
			w.WriteHeader(400)
			js(w, map[string]any{"error": "invalid_grant"})
			return
		}
		a.mu.Lock()
		a.good = fmt.Sprintf("TOKEN-%d-SECRET", a.issued.Add(1))
		tok := a.good
		a.mu.Unlock()
		js(w, map[string]any{"access_token": tok, "token_type": "Bearer", "expires_in": a.lives, "refresh_token": "REFRESH-SECRET"})
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
	wantCode(t, err, CodeServerError)
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
