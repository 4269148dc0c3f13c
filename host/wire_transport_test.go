package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host"
	"askback/host/access"
)

// exchange sends the text of one HTTP request on a connection of its own and returns the response.
func (w *wire) exchange(request string) *http.Response {
	w.Helper()
	conn, err := w.net.Dial(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, request)
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		w.Fatalf("%q: %v", request, err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp
}

func body(resp *http.Response) string {
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}

// The HTTP side (wire protocol, 2.1).
func TestWireHTTP(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		for _, tc := range []struct {
			method, target string
			status         int
			body           string
		}{
			{"GET", "/healthz", 200, "ok"},
			{"GET", "/healthz?verbose=1", 200, "ok"},
			{"GET", "/readyz", 200, "ready"},
			{"GET", "/readyz?x", 200, "ready"},
			{"GET", "/healthz/", 404, "Not Found"},
			{"GET", "/", 404, "Not Found"},
			{"GET", "/runtime-host", 404, "Not Found"},
			{"GET", "/metrics", 404, "Not Found"},
			{"GET", "//healthz", 404, "Not Found"},
			{"GET", "/%68ealthz", 404, "Not Found"},
			{"GET", "/runtime-host/../healthz", 404, "Not Found"},
			{"HEAD", "/healthz", 405, ""},
			{"POST", "/healthz", 405, "Method Not Allowed"},
			{"DELETE", "/runtime-host", 405, "Method Not Allowed"},
			{"OPTIONS", "/readyz", 405, "Method Not Allowed"},
			{"OPTIONS", "*", 405, "Method Not Allowed"},
		} {
			resp := w.exchange(tc.method + " " + tc.target + " HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
			if got := body(resp); resp.StatusCode != tc.status || got != tc.body {
				t.Errorf("%s %s: %d %q", tc.method, tc.target, resp.StatusCode, got)
			}
			if cc, ct := resp.Header.Get("Cache-Control"), strings.ToLower(resp.Header.Get("Content-Type")); cc != "no-store" || ct != "text/plain; charset=utf-8" {
				t.Errorf("%s %s: %q %q", tc.method, tc.target, cc, ct)
			}
		}
	})
}

// The upgrade checks in their order: path, origin, token (2.2). A refusal has no body and closes.
func TestWireUpgradeChecks(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		good := "Bearer " + w.tokens["client"]
		expired := w.token("short", access.RoleClient, time.Minute)
		revoked := w.token("gone", access.RoleClient, 0)
		w.store.Revoke("gone")
		time.Sleep(2 * time.Minute)
		type headers = []string
		for _, tc := range []struct {
			name, target string
			headers      headers
			status       int
		}{
			{"good", "/runtime-host", headers{"Authorization: " + good}, 101},
			{"bare question mark", "/runtime-host?", headers{"Authorization: " + good}, 101},
			{"query", "/runtime-host?x=1", headers{"Authorization: " + good}, 404},
			{"trailing slash", "/runtime-host/", headers{"Authorization: " + good}, 404},
			{"another path", "/other", headers{"Authorization: " + good}, 404},
			{"escaped path", "/runtime%2dhost", headers{"Authorization: " + good}, 404},
			{"path before token", "/other", nil, 404},
			{"path before origin", "/other", headers{"Origin: https://evil.example"}, 404},
			{"listed origin", "/runtime-host", headers{"Authorization: " + good, "Origin: https://ok.example"}, 101},
			{"unlisted origin", "/runtime-host", headers{"Authorization: " + good, "Origin: https://evil.example"}, 403},
			{"null origin", "/runtime-host", headers{"Authorization: " + good, "Origin: null"}, 403},
			{"origin with a slash", "/runtime-host", headers{"Authorization: " + good, "Origin: https://ok.example/"}, 403},
			{"origin in capitals", "/runtime-host", headers{"Authorization: " + good, "Origin: HTTPS://OK.example"}, 403},
			{"two origins", "/runtime-host", headers{"Authorization: " + good, "Origin: https://ok.example", "Origin: https://ok.example"}, 403},
			{"origin before token", "/runtime-host", headers{"Origin: https://evil.example"}, 403},
			{"no token", "/runtime-host", nil, 401},
			{"listed origin, no token", "/runtime-host", headers{"Origin: https://ok.example"}, 401},
			{"scheme in lower case", "/runtime-host", headers{"Authorization: bearer " + w.tokens["client"]}, 401},
			{"two blanks", "/runtime-host", headers{"Authorization: Bearer  " + w.tokens["client"]}, 401},
			{"blank in the token", "/runtime-host", headers{"Authorization: Bearer " + w.tokens["client"][:20] + " " + w.tokens["client"][20:]}, 401},
			{"basic", "/runtime-host", headers{"Authorization: Basic " + w.tokens["client"]}, 401},
			{"two headers", "/runtime-host", headers{"Authorization: " + good, "Authorization: " + good}, 401},
			{"another token", "/runtime-host", headers{"Authorization: Bearer askb_rh_" + strings.Repeat("A", 43)}, 401},
			{"another Host's form", "/runtime-host", headers{"Authorization: Bearer maka_rh_" + strings.Repeat("A", 43)}, 401},
			{"cut token", "/runtime-host", headers{"Authorization: " + good[:len(good)-1]}, 401},
			{"expired", "/runtime-host", headers{"Authorization: Bearer " + expired}, 401},
			{"revoked", "/runtime-host", headers{"Authorization: Bearer " + revoked}, 401},
			{"in the query", "/runtime-host?token=" + w.tokens["client"], nil, 404},
		} {
			req := "GET " + tc.target + " HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
			for _, h := range tc.headers {
				req += h + "\r\n"
			}
			resp := w.exchange(req + "\r\n")
			if resp.StatusCode != tc.status {
				t.Errorf("%s: %d, wanted %d", tc.name, resp.StatusCode, tc.status)
			}
			if resp.StatusCode == 101 {
				if resp.Header.Get("Sec-WebSocket-Extensions") != "" {
					t.Errorf("%s: compression was agreed", tc.name)
				}
				continue
			}
			if got := body(resp); got != "" || resp.ContentLength != 0 || !resp.Close {
				t.Errorf("%s: body %q, length %d, close %v", tc.name, got, resp.ContentLength, resp.Close)
			}
		}
		if contains(w.log.String(), w.tokens["client"]) || contains(w.log.String(), w.tokens["client"][8:]) {
			t.Error("a token is in the log")
		}
	})
}

// One JSON object per text message (2.3). Anything else ends the connection without a word.
func TestWireFraming(t *testing.T) {
	t.Parallel()
	status := `{"requestId":"x","operation":"host.status","input":{}}`
	for name, message := range map[string]string{
		"empty": "", "blank": " ", "not JSON": "hello", "array": "[]", "array of one": "[" + status + "]", "null": "null", "number": "1", "text": `"x"`,
		"two objects": status + status, "two lines": status + "\n" + status, "cut": status[:len(status)-1], "trailing comma": strings.Replace(status, "{}}", "{},}", 1),
		"comment": status + "//", "byte order mark": "\ufeff" + status, "duplicate key": strings.Replace(status, "{", `{"requestId":"x",`, 1),
		"duplicate key in depth": strings.Replace(status, "{}", `{"a":1,"a":1}`, 1), "lone surrogate": `{"requestId":"\ud800","operation":"host.status","input":{}}`,
		"NUL": status + "\x00", "deep": `{"requestId":"x","operation":"host.status","input":` + strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100001),
		"wrong case": strings.Replace(status, "requestId", "requestid", 1), "empty object": "{}",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				p.send(message)
				p.wantAborted()
			})
		})
	}
	for name, message := range map[string]string{
		"final newline": status + "\n", "blanks around": " \t\r\n" + status + "\r\n ",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				p.send(message)
				if f := p.answer("x"); f == nil || f["ok"] != true {
					t.Errorf("%v", f)
				}
			})
		})
	}
	t.Run("binary", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			p := w.connect("client", "term", 81)
			p.ws.WriteMessage(websocket.BinaryMessage, []byte(status))
			p.wantAborted()
		})
	})
	t.Run("bad UTF-8", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			p := w.connect("client", "term", 81)
			p.send("{\"requestId\":\"\xff\"}")
			settle()
			time.Sleep(2 * time.Second)
			settle()
			if p.code() != 1007 {
				t.Errorf("ended with %d", p.code())
			}
		})
	})
	for n, want := range map[int]int{786432: 0, 786433: 1009, 1 << 20: 1009} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				p.send(status + strings.Repeat(" ", n-len(status)))
				settle()
				time.Sleep(2 * time.Second)
				settle()
				if p.code() != want {
					t.Errorf("ended with %d", p.code())
				}
			})
		})
	}
	t.Run("fragments", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			p := w.connect("client", "term", 81)
			raw := p.ws.NetConn()
			for i, part := range []string{status[:5], status[5:20], "", status[20:]} {
				head := byte(0x00)
				if i == 0 {
					head = 0x01
				}
				if i == 3 {
					head |= 0x80
				}
				raw.Write(append([]byte{head, 0x80 | byte(len(part)), 0, 0, 0, 0}, part...))
			}
			if f := p.answer("x"); f == nil || f["ok"] != true {
				t.Errorf("%v (%d)", f, p.code())
			}
		})
	})
	for name, c := range map[string]struct {
		fragments int
		between   []byte // beside each fragment
		aborted   bool
	}{
		"256 fragments":            {fragments: 256},
		"257 fragments":            {fragments: 257, aborted: true},
		"256 fragments, and pings": {fragments: 256, between: []byte{0x89, 0x81, 0, 0, 0, 0, 'x'}},
		"257 fragments, and pings": {fragments: 257, between: []byte{0x89, 0x81, 0, 0, 0, 0, 'x'}, aborted: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				p := w.connect("client", "term", 81)
				for i := range 3 { // they are counted for each message anew
					message := fmt.Sprintf(`{"requestId":"x%d","operation":"host.status","input":{}}`, i)
					p.ws.NetConn().Write(inFragments(message, c.fragments, c.between))
					if settle(); c.aborted {
						p.wantAborted()
						return
					}
					if f := p.answer(fmt.Sprint("x", i)); f == nil || f["ok"] != true {
						t.Fatalf("%v (%d)", f, p.code())
					}
				}
			})
		})
	}
	t.Run("ping", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			p := w.raw("client")
			pong := make(chan string, 1)
			p.ws.SetPongHandler(func(s string) error { pong <- s; return nil })
			p.send(hello("term", 81))
			p.ws.WriteControl(websocket.PingMessage, []byte("are you there"), time.Time{})
			settle()
			select {
			case s := <-pong:
				if s != "are you there" {
					t.Errorf("pong %q", s)
				}
			default:
				t.Error("no pong")
			}
			p.ws.SetPingHandler(func(string) error { t.Error("the Host pings"); return nil })
			time.Sleep(time.Hour)
			p.take()
			p.wantAlive()
		})
	})
}

// inFragments is a message in n fragments, most of them empty, whose lengths are spelt in three ways.
func inFragments(message string, n int, between []byte) (frames []byte) {
	for i := range n {
		head, part := byte(0x00), ""
		switch i {
		case 0:
			head, part = 0x01, message[:5]
		case n - 1:
			head, part = 0x80, message[5:]
		}
		length := [][]byte{{0x80 | byte(len(part))}, {0x80 | 126, 0, byte(len(part))}, {0x80 | 127, 0, 0, 0, 0, 0, 0, 0, byte(len(part))}}[i%3]
		frames = append(append(append(append(frames, head), length...), 0, 0, 0, 0), part...)
		frames = append(frames, between...)
	}
	return frames
}

// A connection that does not read is cut off when more than 64 frames or 2 MiB wait for it; others are not touched.
func TestWireOutboundQueue(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(81)
		s.admit()
		s.prov.cap("result", s.inv, textResult("x"))
		settle()
		s.prov.take()
		other := w.connect("client", "other", 81)
		silence(s.prov)
		settle()
		// The network takes about a MiB and the queue 64 frames; calls with large arguments fill both.
		arguments := `{"a":"` + strings.Repeat("x", 40<<10) + `"}`
		for n := range 200 {
			if s.count("connection aborted") > 0 {
				if n < 26 {
					t.Errorf("cut off after %d calls", n)
				}
				break
			}
			sid := other.session("ask")
			other.start(sid, "/call wire/echo "+arguments)
			settle()
			time.Sleep(151 * time.Second) // the call ends, its frames wait
			settle()
		}
		if s.count("connection aborted") != 1 {
			t.Error("never cut off")
		}
		other.wantAlive()
	})
}

// A client that asks and does not read: its requests wait until there is room for answers, and it is cut off when more
// than 64 of them wait.
func TestWireAsksAndDoesNotRead(t *testing.T) {
	t.Parallel()
	for asked, end := range map[int]int{80: 0, 200: 1006} {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			s.bigRow()
			slow, _ := s.stopsReading()
			for range asked {
				slow.request("host.status", obj{})
				settle()
			}
			s.view.wantAlive()
			go slow.collect()
			settle()
			if slow.code() != end {
				t.Errorf("%d asked: ended with %d", asked, slow.code())
			}
			if n := len(slow.take()); end == 0 && n != asked+2 {
				t.Errorf("%d of %d answered", n, asked+2)
			}
		})
	}
}

// count counts log records with that text.
func (w *wire) count(text string) int { return strings.Count(w.log.String(), text) }

func revision(p *peer, session string) any {
	return dig(p.ok("session.catalog.query", obj{"kind": "get", "sessionId": session}), "session", "revision")
}

// blockOn is a log handler that holds up whoever logs a message until release is closed.
type blockOn struct {
	slog.Handler
	message string
	release *chan struct{}
}

func (b blockOn) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == b.message {
		<-*b.release
	}
	return nil
}

func (b blockOn) Enabled(context.Context, slog.Level) bool { return true }

func (b blockOn) WithAttrs([]slog.Attr) slog.Handler { return b }

// More than 64 small messages beyond the one being processed end the connection. Large ones wait in the network.
func TestWireInboundQueue(t *testing.T) {
	t.Parallel()
	status := func(i, pad int) string {
		return fmt.Sprintf(`{"requestId":"q%d","operation":"host.status","input":{}}%s`, i, strings.Repeat(" ", pad))
	}
	for name, tc := range map[string]struct {
		sent, pad, end int
		waits          bool // the client is held up
	}{
		"64 small": {64, 0, 0, false}, "65 small": {65, 0, 1006, false}, "2 MiB": {2, 700 << 10, 0, false},
		"7 MiB": {10, 700 << 10, 0, true}, "90 of 9 KiB": {90, 9 << 10, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var release chan struct{}
			bubble(t, func(o *host.Options) {
				release = make(chan struct{})
				o.Logger = slog.New(blockOn{slog.DiscardHandler, "interaction answer refused", &release})
			}, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				id := s.askForm("n1")
				p := w.connect("client", "busy", 81)
				p.request("interaction.answer", s.answerInput(id, accept(strings.Repeat("x", 21)))) // is being processed until released
				settle()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					for i := range tc.sent {
						p.send(status(i, tc.pad))
					}
				}()
				settle()
				if p.code() != tc.end {
					t.Fatalf("ended with %d", p.code())
				}
				select {
				case <-sent:
					if tc.waits {
						t.Error("all was taken in")
					}
				default:
					if !tc.waits {
						t.Error("the client is held up")
					}
				}
				close(release)
				<-sent
				settle()
				if n := len(p.take()); tc.end == 0 && n != tc.sent+1 {
					t.Errorf("%d of %d answered (%d)", n, tc.sent+1, p.code())
				}
				s.view.wantAlive()
			})
		})
	}
}

// Revocation drops live connections within a second and gives 401 from then on.
func TestWireRevocation(t *testing.T) {
	t.Parallel()
	for _, role := range []access.Role{access.RoleClient, access.RoleProvider, access.RoleBoth} {
		t.Run(string(role), func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				w.token("doomed", role, 0)
				a, b, stays := w.connect("doomed", "a", 81), w.connect("doomed", "b", 39), w.connect(string(role), "c", 81)
				silent := w.raw("doomed") // has not said hello
				start := time.Now()
				w.store.Revoke("doomed")
				time.Sleep(time.Second)
				settle()
				for _, p := range []*peer{a, b, silent} {
					if p.code() != 1006 {
						t.Errorf("after %v: %d", time.Since(start), p.code())
					}
				}
				stays.wantAlive()
				if _, resp := w.dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + w.tokens["doomed"]}}); resp.StatusCode != 401 {
					t.Errorf("again: %d", resp.StatusCode)
				}
			})
		})
	}
	t.Run("expiry", func(t *testing.T) {
		bubble(t, nil, func(w *wire) {
			w.token("short", access.RoleClient, time.Hour)
			p := w.connect("short", "a", 81)
			time.Sleep(time.Hour - time.Second)
			p.wantAlive()
			time.Sleep(2 * time.Second)
			settle()
			if p.code() != 1006 {
				t.Errorf("%d", p.code())
			}
		})
	})
}

// The log tells connections, Turns, calls and forms by id and action, as JSON lines, and nothing of what they hold.
func TestWireLog(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := &stage{wire: w, view: w.connect("client", "term", 81), prov: w.connect("provider", "term", 81)}
		o := offer("o", "wire", "echo")
		o["label"] = "marker-label"
		s.prov.publish(o)
		s.session = s.view.session("ask")
		s.turn, s.run = s.view.start(s.session, `/call wire/echo {"secret":"marker-argument"}`)
		s.inv = s.called(s.prov)
		s.admit()
		f := form()
		f["message"] = "marker-message"
		s.prov.cap("interaction_request", s.inv, obj{"interactionId": "marker-nested", "request": f})
		id := text(s.pending()[0], "interactionId")
		s.view.refused("operation_conflict", "interaction.answer", s.answerInput(id, obj{"kind": "form", "action": "accept", "values": obj{"marker-field": "marker-wrong"}}))
		s.view.ok("interaction.answer", s.answerInput(id, accept("marker-answer")))
		s.prov.cap("failed", s.inv, obj{"message": "marker-failure"})
		settle()
		s.prov.send(`{"kind":"marker-kind","marker-key":"marker-value"}`)
		settle()
		log := w.log.String()
		for _, word := range []string{"marker-label", "marker-argument", "marker-message", "marker-nested", "marker-wrong", "marker-field", "marker-answer", "marker-failure", "marker-value",
			w.tokens["client"], w.tokens["provider"], "Which colour"} {
			if contains(log, word) {
				t.Errorf("the log has %q", word)
			}
		}
		for _, id := range []string{s.turn, s.inv, id} {
			if !contains(log, id) {
				t.Errorf("the log does not tell of %q", id)
			}
		}
		for line := range strings.Lines(log) {
			var o obj
			if json.Unmarshal([]byte(line), &o) != nil || o["msg"] == nil || o["time"] == nil {
				t.Errorf("not a JSON record: %s", line)
			}
		}
	})
}

// Another process adds and revokes tokens in the file that a running Host uses.
func TestWireTokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	bubble(t, func(o *host.Options) {
		store, err := access.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Access = store
	}, func(w *wire) {
		cli, err := access.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if w.tokens["late"], err = cli.Add("late", access.RoleBoth, 0); err != nil {
			t.Fatal(err)
		}
		p := w.connect("late", "term", 81)
		silent := w.raw("late")
		if err := cli.Revoke("late"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		settle()
		if p.code() != 1006 || silent.code() != 1006 {
			t.Errorf("a second after the revocation: %d and %d", p.code(), silent.code())
		}
		if _, resp := w.dial("ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + w.tokens["late"]}}); resp.StatusCode != 401 {
			t.Errorf("again: %d", resp.StatusCode)
		}
	})
}
