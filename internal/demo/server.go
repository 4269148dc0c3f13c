// Package demo is a real MCP server with tools that ask for input, for the demo command and for tests. It speaks
// protocol 2026-07-28 and, to an older client, the legacy eras, in which it asks by push where the client can be
// asked at all.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	codeInvalidParams     = -32602
	codeMissingCapability = -32021
	modernVersion         = "2026-07-28"
)

// Options configures a Server.
type Options struct {
	Version string
	// Record, when set, gets every JSON-RPC message that a client sends, one JSON object a line. Tests count
	// tools/call by it.
	Record io.Writer
	// JSONBodies makes the HTTP transport answer with application/json instead of an event stream.
	JSONBodies bool
}

// Server is the demo MCP server. It may serve several connections at once.
type Server struct {
	opts     Options
	mcp      *mcp.Server
	seal     *sealer
	handlers map[string]handler // "method name"
	record   *recorder
}

// New builds the server with all its tools, prompts and resources.
func New(opts Options) *Server {
	s := &Server{opts: opts, seal: newSealer(), handlers: map[string]handler{}, record: newRecorder(opts.Record)}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "askback-demo", Title: "askback demo", Version: opts.Version},
		&mcp.ServerOptions{
			Instructions:      "Every tool here shows one way in which a tool can ask a person for input.",
			CompletionHandler: s.complete,
		})
	s.mcp.AddReceivingMiddleware(s.takeOver)
	s.addTools(tools)
	s.addTools(presets)
	s.addPrompt()
	s.addResource()
	return s
}

// MCP returns the SDK's server, for transports of a caller's own.
func (s *Server) MCP() *mcp.Server { return s.mcp }

// ServeStdio serves one client on in and out until in ends or ctx does.
func (s *Server) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: s.record.reader(in), Writer: out})
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// ServeHTTP serves streamable HTTP on l at /mcp until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.record.middleware(s.bothEras()))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
	})
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bothEras serves the modern era without sessions and the legacy ones with them, since the SDK's handler speaks the
// modern era only when it keeps no sessions, and can ask by push only when it does.
func (s *Server) bothEras() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: s.opts.JSONBodies, Stateless: true})
	legacy := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: s.opts.JSONBodies})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= modernVersion {
			modern.ServeHTTP(w, r)
			return
		}
		legacy.ServeHTTP(w, r)
	})
}

func (s *Server) addTools(list []tool) {
	for _, t := range list {
		s.mcp.AddTool(&mcp.Tool{
			Name: t.name, Title: t.title, Description: t.description,
			InputSchema: json.RawMessage(t.schema), Annotations: t.annotations,
		}, unreachable)
		s.handlers["tools/call "+t.name] = t.run
	}
}

func unreachable(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("demo: a call reached the SDK's handler")
}

// takeOver answers the three methods that can pause, in both eras.
func (s *Server) takeOver(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c, state, meta, ok := readCall(method, req)
		if !ok {
			return next(ctx, method, req)
		}
		h := s.handlers[method+" "+c.name]
		if h == nil {
			return next(ctx, method, req)
		}
		session, _ := req.GetSession().(*mcp.ServerSession)
		c.progress = progressTo(ctx, session, meta)
		if v, _ := meta[mcp.MetaKeyProtocolVersion].(string); v >= modernVersion {
			return s.leg(ctx, h, c, state, meta)
		}
		return s.push(ctx, h, c, session)
	}
}

// readCall finds what the three methods have in common. state is nil when the client sent none.
func readCall(method string, req mcp.Request) (c *call, state *string, meta mcp.Meta, ok bool) {
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		c, meta = &call{name: p.Name, args: p.Arguments, answers: p.InputResponses}, p.Meta
		state = nonEmpty(p.RequestState)
	case *mcp.GetPromptParams:
		args, _ := json.Marshal(p.Arguments)
		c, meta = &call{name: p.Name, args: args, answers: p.InputResponses}, p.Meta
		state = nonEmpty(p.RequestState)
	case *mcp.ReadResourceParams:
		c, meta = &call{name: p.URI, answers: p.InputResponses}, p.Meta
		state = nonEmpty(p.RequestState)
	default:
		return nil, nil, nil, false
	}
	c.method = method
	return c, state, meta, true
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// leg answers one request of the modern era: all that is remembered between two legs is in the state.
func (s *Server) leg(ctx context.Context, h handler, c *call, state *string, meta mcp.Meta) (mcp.Result, error) {
	binding, err := bindingOf(c.method, c.name, c.args)
	if err != nil {
		return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: err.Error()}
	}
	if state != nil {
		p, err := s.seal.open(binding, *state)
		if err != nil {
			return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: err.Error()}
		}
		c.step, c.data = p.Step, p.Data
	}
	r, err := h(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.final != nil {
		return r.final, nil
	}
	if missing := missingCapability(r.requests, meta); missing != "" {
		data, _ := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{missing: struct{}{}}})
		return nil, &jsonrpc.Error{Code: codeMissingCapability, Data: data,
			Message: fmt.Sprintf("%s needs a client that declares %q on the call", c.name, missing)}
	}
	var token string
	if r.next != nil {
		if token, err = s.seal.seal(binding, *r.next); err != nil {
			return nil, err
		}
	}
	raw, err := encodeRound(r.requests, token, r.next != nil)
	if err != nil {
		return nil, err
	}
	return rawResult{&mcp.CallToolResult{}, raw}, nil
}

// missingCapability names the first capability that a round needs and the leg does not declare.
func missingCapability(requests []request, meta mcp.Meta) string {
	declared, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	needs := map[string]string{"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
	for _, r := range requests {
		if _, ok := declared[needs[r.method]]; !ok {
			return needs[r.method]
		}
	}
	return ""
}

func progressTo(ctx context.Context, ss *mcp.ServerSession, meta mcp.Meta) func(done, total float64, message string) {
	token, ok := meta["progressToken"]
	if !ok || ss == nil {
		return func(float64, float64, string) {}
	}
	return func(done, total float64, message string) {
		// A client that has gone learns nothing; the call itself ends by its context.
		_ = ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: total, Message: message,
		})
	}
}
