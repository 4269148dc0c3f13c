// Package peer is a hand-written modern MCP server over HTTP for the acceptance tests: it answers with exact bytes, which
// a server made with an SDK cannot.
package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// Done is the final result of a script.
const Done = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// HangUp in a script ends the connection instead of answering.
const HangUp = "hang up"

// Form is one form-mode request with one required text field.
func Form(key, field string) string {
	return fmt.Sprintf(`%q:{"method":"elicitation/create","params":{"mode":"form","message":"Please","requestedSchema":{"type":"object","properties":{%q:{"type":"string","maxLength":100}},"required":[%q]}}}`, key, field, field)
}

// Round is an input_required result. state is a JSON token, "" for none; each request is "key":{…}.
func Round(state string, requests ...string) string {
	out := `{"resultType":"input_required"`
	if requests != nil {
		out += `,"inputRequests":{`
		for i, r := range requests {
			if i > 0 {
				out += ","
			}
			out += r
		}
		out += "}"
	}
	if state != "" {
		out += `,"requestState":` + state
	}
	return out + "}"
}

// Call is one leg of tools/call, prompts/get or resources/read as it arrived.
type Call struct {
	ID             json.RawMessage
	Method         string
	Name           string
	Arguments      json.RawMessage
	Meta           map[string]json.RawMessage
	InputResponses json.RawMessage
	RequestState   json.RawMessage
	Header         http.Header
}

// T is the part of a test that a Server needs.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Server answers the legs of its tool "ask" with the results of its script, in order; a leg past its end is counted
// and answered with the last one. A result that begins with "error:" is the JSON of a JSON-RPC error.
type Server struct {
	mu     sync.Mutex
	script []string
	calls  []Call
	other  []string // methods of all other messages
	bodies []string // of all messages
	hold   map[int]chan struct{}
	ended  chan struct{} // closed when requests that wait are to end
	legacy bool

	// Tamper, when set, makes of each message what the server takes for it, one or several; set it before Start.
	Tamper func(message []byte) [][]byte

	definition int             // of the tool, counted up by ChangeTool
	listening  []chan struct{} // change notices that subscriptions wait for
}

// New makes a server with a script.
func New(script ...string) *Server {
	return &Server{script: script, hold: map[int]chan struct{}{}, ended: make(chan struct{})}
}

// Hold makes the n-th leg, counted from 1, wait until the returned function is called.
func (s *Server) Hold(n int) (release func()) {
	ch := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold[n] = ch
	return sync.OnceFunc(func() { close(ch) })
}

// Rewrite replaces a text in the rest of the script.
func (s *Server) Rewrite(old, new string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script {
		s.script[i] = strings.ReplaceAll(s.script[i], old, new)
	}
}

// Start serves it until the test ends and returns its URL.
func (s *Server) Start(t T) string {
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.ended) // a client that is still there may connect until the listener is closed
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

// StartLegacy serves it as a server of the 2025-11-25 era, which answers server/discover with an error.
func (s *Server) StartLegacy(t T) string {
	s.legacy = true
	return s.Start(t)
}

// Calls are the legs so far.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Await waits until n legs have arrived.
func (s *Server) Await(t T, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(s.Calls()) < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server saw %d legs, and %d were awaited", len(s.Calls()), n)
		}
	}
}

// Others are the methods of all other messages so far.
func (s *Server) Others() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.other...)
}

// Bodies are all messages so far, as they arrived.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	id := m.ID // of the answer
	if s.Tamper != nil {
		for i, instead := range s.Tamper(body) {
			if i > 0 {
				s.answer(r.Context(), r.Header, m.ID, m.Method, m.Params)
			}
			if json.Unmarshal(instead, &m) != nil {
				panic("tampered into no JSON")
			}
			body = instead
		}
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	s.mu.Unlock()
	if m.ID == nil {
		s.note(m.Method)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "subscriptions/listen" {
		s.note(m.Method)
		s.listen(w, r, m.ID)
		return
	}
	result := s.answer(r.Context(), r.Header, m.ID, m.Method, m.Params)
	if result == HangUp {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, response(id, result))
}

func response(id json.RawMessage, result string) string {
	if cause, ok := strings.CutPrefix(result, "error:"); ok {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, cause)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// ServeStdio answers one message a line, one after the other, until in ends. heard is called with each leg before its
// answer.
func (s *Server) ServeStdio(in io.Reader, out io.Writer, heard func(line []byte, c Call)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID)
		if m.Method != "subscriptions/listen" {
			before := len(s.Calls())
			reply = response(m.ID, s.answer(context.Background(), nil, m.ID, m.Method, m.Params))
			if calls := s.Calls(); len(calls) > before {
				heard(lines.Bytes(), calls[before])
			}
		}
		if _, err := fmt.Fprintln(out, reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// ChangeTool gives the tool another definition and tells whoever listens.
func (s *Server) ChangeTool() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.definition++
	for _, ch := range s.listening {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// listen is a subscription: it acknowledges tool changes and tells each of them, until the client leaves.
func (s *Server) listen(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	changed := make(chan struct{}, 1)
	s.mu.Lock()
	s.listening = append(s.listening, changed)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	notice := func(method, members string) {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}%s}}\n\n", method, id, members)
		http.NewResponseController(w).Flush()
	}
	notice("notifications/subscriptions/acknowledged", `,"notifications":{"toolsListChanged":true}`)
	for {
		select {
		case <-changed:
			notice("notifications/tools/list_changed", "")
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
	}
}

func (s *Server) note(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = append(s.other, method)
}

func (s *Server) answer(ctx context.Context, header http.Header, id json.RawMessage, method string, params json.RawMessage) string {
	if s.legacy && method == "server/discover" {
		return `error:{"code":-32601,"message":"no such method"}`
	}
	switch method {
	case "initialize":
		s.note(method)
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}`
	case "server/discover":
		s.note(method)
		return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}},"ttlMs":0,"cacheScope":"public"}`
	case "tools/list":
		s.note(method)
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"ask","description":"definition %d","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"public"}`, s.definition)
	case "tools/call", "prompts/get", "resources/read":
		return s.leg(ctx, header, id, method, params)
	}
	s.note(method)
	return `error:{"code":-32601,"message":"no such method"}`
}

func (s *Server) leg(ctx context.Context, header http.Header, id json.RawMessage, method string, params json.RawMessage) string {
	var p struct {
		Meta           map[string]json.RawMessage `json:"_meta"`
		Name, URI      string
		Arguments      json.RawMessage
		InputResponses json.RawMessage
		RequestState   json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return `error:{"code":-32602,"message":"params"}`
	}
	s.mu.Lock()
	s.calls = append(s.calls, Call{id, method, p.Name + p.URI, p.Arguments, p.Meta, p.InputResponses, p.RequestState, header.Clone()})
	n := len(s.calls)
	hold := s.hold[n]
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		case <-s.ended:
		}
	}
	return s.script[min(n, len(s.script))-1]
}
