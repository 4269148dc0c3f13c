// Package peer gives the inspector's tests MCP servers in this process: any that speaks stdio, and one that answers
// with exactly the bytes that a test wants. Both tell every message that they received.
package peer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"askback/mcpmgr/config"
)

// Message is one message that a server received.
type Message struct {
	ID     json.RawMessage
	Method string // "" for a response
	Params json.RawMessage
	Result json.RawMessage // of a response
	Error  json.RawMessage
}

// Server is one server of a test.
type Server struct {
	Config config.Server

	serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser)
	mu    sync.Mutex
	got   []Message
	wg    sync.WaitGroup
}

// Name of every server of this package.
const Name = "demo"

func server() *Server {
	return &Server{Config: config.Server{Name: Name, Transport: config.Stdio, Command: "in-memory", Protocol: config.Auto}}
}

// New is a server that serve runs, once for each connection. It is made by build, at once; what it writes to record,
// one message a line, counts as received.
func New(build func(record io.Writer) (serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser))) *Server {
	s := server()
	s.serve = build(recorder{s})
	return s
}

// recorder takes the lines that a server records.
type recorder struct{ s *Server }

func (r recorder) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		r.s.record(line)
	}
	return len(p), nil
}

func (s *Server) record(line []byte) {
	var m Message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	s.mu.Lock()
	s.got = append(s.got, m)
	s.mu.Unlock()
}

// Got are the messages of a method that were received; "" is all of them.
func (s *Server) Got(method string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.got {
		if method == "" || m.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// Transport starts the server for one connection. Close the connection to end it.
func (s *Server) Transport(context.Context) (mcp.Transport, error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	s.wg.Go(func() {
		s.serve(context.Background(), fromClient, toClient)
		_ = fromClient.Close()
		_ = toClient.Close()
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil
}

// Transports is what the inspector's options take.
func (s *Server) Transports() map[string]func(context.Context) (mcp.Transport, error) {
	return map[string]func(context.Context) (mcp.Transport, error){Name: s.Transport}
}

// Wait waits until the server's connections have ended.
func (s *Server) Wait() { s.wg.Wait() }

// Reply answers one request: a result, or nothing for no reply at all.
type Reply func(m Message, send func(line string)) (result string)

// Scripted is a modern server with one tool t that answers calls as on says. Methods that on does not know get what an
// obliging server gives.
func Scripted(on map[string]Reply) *Server {
	s := server()
	s.serve = func(_ context.Context, in io.ReadCloser, out io.WriteCloser) { s.script(in, out, on) }
	return s
}

func (s *Server) script(in io.Reader, out io.Writer, on map[string]Reply) {
	var mu sync.Mutex
	send := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(out, line+"\n") // the client may have gone
	}
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		s.record(line)
		var m Message
		if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		f := on[m.Method]
		if f == nil {
			f = obliging
		}
		result := f(m, send)
		if result != "" {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
		}
	}
}

func obliging(m Message, send func(string)) string {
	switch m.Method {
	case "server/discover":
		return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}}}`
	case "tools/list":
		return `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case "subscriptions/listen":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`, m.ID))
		return ""
	}
	return `{"resultType":"complete","content":[],"messages":[],"contents":[]}`
}
