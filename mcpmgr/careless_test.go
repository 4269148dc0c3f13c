package mcpmgr

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"askback/mcpmgr/config"
)

// modernDiscovers are errors in reply to server/discover that only a modern server gives, however they are made.
var modernDiscovers = map[string]string{
	"text for a code":       `{"jsonrpc":"2.0","id":$ID,"error":{"code":"-32021","message":"x"}}`,
	"object for a text":     `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32021,"message":{"en":"x"}}}`,
	"NaN in the data":       `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32021,"message":"x","data":{"x":NaN}}}`,
	"a message given twice": `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32021,"message":"x","message":"y"}}`,
}

func init() {
	for name, reply := range modernDiscovers {
		childPeers["modern discover "+name] = func() *peer {
			return newPeer().handle("server/discover", func(r *preq) { r.done(strings.ReplaceAll(reply, "$ID", string(r.ID))) })
		}
	}
}

// TestModernByItsCode: however an error is made, its code tells the era.
func TestModernByItsCode(t *testing.T) {
	t.Parallel()
	for name, reply := range modernDiscovers {
		t.Run("stdio, "+name, func(t *testing.T) {
			m := startChildServer(t, "modern discover "+name, Options{})
			if st, _ := m.Server("s"); st.Era != EraModern {
				t.Errorf("%+v", st)
			}
		})
		t.Run("http, "+name, func(t *testing.T) {
			p := newPeer()
			p.handle("server/discover", func(r *preq) {
				r.http(400, "application/json", strings.ReplaceAll(reply, "$ID", string(r.ID)))
			})
			m := manage(t, "json", p, Options{})
			if st, _ := m.Server("s"); st.Era != EraModern {
				t.Errorf("%+v", st)
			}
		})
	}
	t.Run("legacy, with a tabulator in its text", func(t *testing.T) {
		p := newPeer()
		p.handle("server/discover", func(r *preq) {
			r.http(200, "application/json", `{"jsonrpc":"2.0","id":`+string(r.ID)+`,"error":{"code":-32601,"message":"no	such"}}`)
		})
		m := manage(t, "json", p, Options{})
		if st, _ := m.Server("s"); st.Era != EraLegacy {
			t.Errorf("%+v", st)
		}
	})
	t.Run("legacy, as an event without an id", func(t *testing.T) {
		p := newPeer()
		p.handle("server/discover", func(r *preq) {
			r.http(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"x\"}}\n\n")
		})
		m := manage(t, "json", p, Options{})
		if st, _ := m.Server("s"); st.Era != EraLegacy {
			t.Errorf("%+v", st)
		}
	})
}

// TestStateOverTheCut: what is quoted of a server is redacted before it is cut, so that no beginning of a state is left.
func TestStateOverTheCut(t *testing.T) {
	const state = "SecretState-0123456789-0123456789-0123456789"
	pad := strings.Repeat("p", 50)
	for name, quote := range map[string]http.HandlerFunc{
		"content type": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "x/"+pad+state) },
		"content type in small letters": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/"+strings.ToLower(state))
		},
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://"+pad+strings.Repeat("p", 35)+state+".example/")
			w.WriteHeader(307)
		},
		"scope": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+strings.Repeat(pad, 4)[:190]+state+`"`)
			w.WriteHeader(403)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Method") == "tools/call" && len(p.by("tools/call")) > 0 {
					quote(w, r)
					return
				}
				p.ServeHTTP(w, r)
			}))
			defer h.Close()
			p.handle("tools/call", func(r *preq) { r.result(inputRequired("", `"`+state+`"`)) })
			var log strings.Builder
			m := startServers(t, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
				config.Server{Name: "s", Transport: config.HTTP, URL: h.URL})
			waitReady(t, m, "s")
			_, err := callT(t, m, `{}`, accept(yes))
			m.Close()
			if text := strings.ToLower(fmt.Sprint(err) + log.String()); CodeOf(err) == "" || CodeOf(err) == CodeNoHandler || strings.Contains(text, "secret") {
				t.Errorf("%s", text)
			}
		})
	}
	t.Run("result type of no call", func(t *testing.T) {
		p := newPeer().handle("tools/call", func(r *preq) {
			if r.raw("requestState") != "" {
				r.result(complete)
				return
			}
			r.result(inputRequired("", `"`+state+`"`))
		}).handle("x/y", func(r *preq) { r.result(`{"resultType":"` + pad + state + `"}`) })
		m := manage(t, "json", p, Options{})
		if _, err := callT(t, m, `{}`, accept(yes)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Request(t.Context(), "s", "x/y", nil); err == nil || strings.Contains(err.Error(), "Secret") {
			t.Error(err)
		}
	})
}

// TestOddlyCompressed: a reply that is compressed in a way that nobody asked for is told as what it is.
func TestOddlyCompressed(t *testing.T) {
	t.Parallel()
	for how, says := range map[string]string{"br": "compressed as br", "Identity": "", "": ""} {
		p := newPeer()
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "tools/call" && how != "" {
				w.Header().Set("Content-Encoding", how)
			}
			p.ServeHTTP(w, r)
		}))
		m := startServers(t, Options{}, config.Server{Name: "s", Transport: config.HTTP, URL: h.URL})
		waitReady(t, m, "s")
		_, err := callT(t, m, `{}`, Handlers{})
		if says == "" && err != nil {
			t.Errorf("%q: %v", how, err)
		} else if says != "" && !strings.Contains(wantCode(t, err, CodeProtocolError).Message, says) {
			t.Errorf("%q: %v", how, err)
		}
		m.Close()
		h.Close()
	}
}

// TestToolsDeclared: an empty list means the empty object that some languages cannot write.
func TestToolsDeclared(t *testing.T) {
	t.Parallel()
	for caps, tools := range map[string]int{`{"tools":{}}`: 1, `{"tools":[]}`: 1, `{"tools":true}`: 1, `[]`: 1, `null`: 1,
		`{}`: 0, `{"prompts":{}}`: 0, `{"tools":null}`: 0, `{"tools":false}`: 0} {
		for _, legacy := range []bool{false, true} {
			p := newPeer()
			p.legacyOnly, p.caps = legacy, caps
			m := manage(t, "pipe", p, Options{})
			if n := len(m.Tools()); n != tools {
				t.Errorf("%s, legacy %v: %d tools", caps, legacy, n)
			}
			m.Close()
		}
	}
}
