package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"askback/forms"
	"askback/host"
	"askback/host/access"
	"askback/hostclient"
	"askback/internal/memnet"
	"askback/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a set of tools that run functions.
type fake struct {
	mu      sync.Mutex
	list    []ToolInfo
	run     map[string]func(context.Context, CallRequest) (CallResult, error)
	changed chan struct{}
	log     *slog.Logger // of the provider; nil discards
}

func newFake() *fake {
	return &fake{run: map[string]func(context.Context, CallRequest) (CallResult, error){}, changed: make(chan struct{}, 1)}
}

func (f *fake) Tools() []ToolInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]ToolInfo(nil), f.list...)
}

func (f *fake) Changed() <-chan struct{} { return f.changed }

func (f *fake) Call(ctx context.Context, req CallRequest) (CallResult, error) {
	f.mu.Lock()
	run := f.run[req.Tool.Name]
	f.mu.Unlock()
	return run(ctx, req)
}

func (f *fake) add(t ToolInfo, run func(context.Context, CallRequest) (CallResult, error)) {
	f.mu.Lock()
	f.list = append(f.list, t)
	f.run[t.Name] = run
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// rig is our Host with one provider and one view, over WebSocket in memory.
type rig struct {
	t         *testing.T
	tools     *fake
	view      *hostclient.View
	provider  *Provider
	client    *hostclient.Provider
	published chan Publication
	session   string
	turns     int
	ended     map[string]bool // Turns seen to end
}

func newRig(t *testing.T, tools *fake, dialects ...protocol.Dialect) *rig {
	t.Helper()
	tokens := access.Ephemeral()
	token, err := tokens.Add("laptop", access.RoleBoth, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(host.Options{Dir: t.TempDir(), Access: tokens, WorkDir: "/srv/project", DrainGrace: -1})
	if err != nil {
		t.Fatal(err)
	}
	l := memnet.Listen("host")
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	opts := hostclient.Options{
		URL: "ws://host", NetDial: l.DialContext, Token: func() (string, error) { return token, nil },
		InstanceID: "instance", Dialects: dialects,
	}
	r := &rig{t: t, tools: tools, published: make(chan Publication, 16), ended: map[string]bool{}}
	r.provider = New(Options{Tools: tools, Logger: tools.log, Published: func(p Publication) { r.published <- p }})
	r.client = hostclient.NewProvider(opts, r.provider)
	viewOpts := opts
	viewOpts.Dialects = nil // a person's view speaks forms whatever the provider does
	r.view = hostclient.NewView(viewOpts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.provider.Run(ctx, r.client) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = r.client.Close(context.Background())
		_ = r.view.Close()
		_ = h.Close()
		if err := <-served; err != nil && !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
	})
	if p := r.await(); p.Err != nil {
		t.Fatal(p.Err)
	}
	if err := r.view.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	item, err := r.view.CreateSession(t.Context(), protocol.SessionCreateInput{
		SessionID: "s", Workspace: protocol.WorkspaceTarget{Kind: protocol.WorkspaceProject, ProjectID: "default"},
		ModelTarget: protocol.ModelTarget{Kind: protocol.ModelDefault}, PermissionMode: protocol.PermissionBypass,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.session = item.ID
	if err := r.view.Show(t.Context(), r.session, hostclient.ShowOptions{Rows: true}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) await() Publication {
	r.t.Helper()
	select {
	case p := <-r.published:
		return p
	case <-time.After(10 * time.Second):
		r.t.Fatal("nothing was published")
		return Publication{}
	}
}

// start starts a Turn.
func (r *rig) start(text string) *protocol.TurnSnapshot {
	r.t.Helper()
	r.turns++
	res, err := hostclient.StartTurn(r.t.Context(), r.view, r.client, protocol.TurnStartInput{
		SessionID: r.session, TurnID: fmt.Sprint("t", r.turns), Content: protocol.Content{Text: text},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.Turn
}

// next waits for an event that want accepts.
func next[E hostclient.Event](r *rig, want func(E) bool) E {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	for {
		e, err := r.view.Next(ctx)
		if err != nil {
			r.t.Fatalf("no %T came: %v", *new(E), err)
		}
		if c, ok := e.(hostclient.SessionChanged); ok && c.Snapshot.RootTurn != nil && c.Snapshot.RootTurn.Status.Terminal() {
			r.ended[c.Snapshot.RootTurn.TurnID] = true
		}
		if got, ok := e.(E); ok && want(got) {
			return got
		}
	}
}

// results runs a Turn to its end and returns its result rows.
func (r *rig) results(text string, count int) []protocol.Row {
	r.t.Helper()
	r.start(text)
	return r.rows(count)
}

func (r *rig) rows(count int) (rows []protocol.Row) {
	r.t.Helper()
	for len(rows) < count {
		e := next(r, func(e hostclient.TranscriptRows) bool { return len(e.Rows) > 0 })
		for _, row := range e.Rows {
			if row.Type == protocol.RowToolResult && row.TurnID == fmt.Sprint("t", r.turns) {
				rows = append(rows, row.Row)
			}
		}
	}
	for id := fmt.Sprint("t", r.turns); !r.ended[id]; {
		next(r, func(hostclient.SessionChanged) bool { return true })
	}
	return rows
}

func textResult(s string) CallResult {
	b, _ := json.Marshal(map[string]string{"type": "text", "text": s})
	return CallResult{Content: []json.RawMessage{b}}
}

// rowText is the text of a failure, or of a result's only block.
func rowText(row protocol.Row) string {
	if row.Content == nil {
		return ""
	}
	var value struct{ Content []struct{ Text string } }
	if row.Content.Kind == protocol.RowContentJSON && json.Unmarshal(row.Content.Value, &value) == nil && len(value.Content) == 1 {
		return value.Content[0].Text
	}
	return row.Content.Text
}

func TestCallAndResult(t *testing.T) {
	tools := newFake()
	tools.add(tool("demo", "echo"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		if req.Form == nil {
			t.Error("no form could be asked on a connection that speaks forms")
		}
		for i := range 3000 {
			req.Progress(float64(i), 3000)
		}
		return textResult("got " + string(req.Arguments)), nil
	})
	r := newRig(t, tools)
	row := r.results(`/call demo/echo {"a":"x"}`, 1)[0]
	if *row.IsError || rowText(row) != `got {"a":"x"}` {
		t.Errorf("%+v", row.Content)
	}
}

func TestFailuresReachTheModel(t *testing.T) {
	tools := newFake()
	var reached atomic.Int32
	tools.add(tool("demo", "strict"), func(context.Context, CallRequest) (CallResult, error) {
		reached.Add(1)
		return textResult("reached"), nil
	})
	tools.add(tool("demo", "coded"), func(context.Context, CallRequest) (CallResult, error) {
		return CallResult{}, &Error{Code: "outcome_unknown", Message: "The server is gone."}
	})
	tools.add(tool("demo", "plain"), func(context.Context, CallRequest) (CallResult, error) {
		return CallResult{}, errors.New("boom")
	})
	tools.add(tool("demo", "says"), func(context.Context, CallRequest) (CallResult, error) {
		r := textResult("it exploded")
		r.IsError = true
		return r, nil
	})
	tools.add(tool("demo", "long"), func(context.Context, CallRequest) (CallResult, error) {
		r := textResult(strings.Repeat("é", 9000))
		r.IsError = true
		return r, nil
	})
	tools.add(tool("demo", "panics"), func(context.Context, CallRequest) (CallResult, error) { panic("boom") })
	tools.add(tool("demo", "huge"), func(context.Context, CallRequest) (CallResult, error) {
		return textResult(strings.Repeat("x", 25<<20)), nil
	})
	r := newRig(t, tools)
	for call, want := range map[string]string{
		`/call demo/strict {"a":7}`: "protocol_error: The arguments do not fit the tool's schema: a: must be string. Nothing was sent to the server.",
		"/call demo/coded":          "outcome_unknown: The server is gone.",
		"/call demo/plain":          "server_error: boom",
		"/call demo/says":           "server_error: it exploded",
		"/call demo/long":           "server_error: ééé",
		"/call demo/panics":         "outcome_unknown: An internal error ended the call",
		"/call demo/huge":           "limit_exceeded: The tool's result does not fit: ",
	} {
		row := r.results(call, 1)[0]
		if !*row.IsError || !strings.HasPrefix(rowText(row), want) || len([]rune(rowText(row))) > 4096 {
			t.Errorf("%s: %.200s", call, rowText(row))
		}
		if unknown := row.Content.UncertainOutcome != nil; unknown != strings.HasPrefix(want, "outcome_unknown") {
			t.Errorf("%s: uncertain %v", call, unknown)
		}
	}
	if reached.Load() != 0 {
		t.Error("arguments that do not fit reached the server")
	}
}

func TestForm(t *testing.T) {
	tools := newFake()
	form := forms.Form{Message: "Where to?", Fields: []forms.Field{{Kind: forms.KindString, Name: "env", Label: "Environment", Required: true}}}
	tools.add(tool("demo", "deploy"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		form := form
		form.Requester = forms.Requester{Name: "someone", Source: "else"} // a server's claim
		got, err := req.Form(ctx, form)
		if err != nil {
			return CallResult{}, err
		}
		return textResult(string(got.Action) + " " + got.Values["env"].Text()), nil
	})
	r := newRig(t, tools)
	r.start("/call demo/deploy")
	pending := next(r, func(hostclient.InteractionPending) bool { return true }).Interaction
	req := pending.Request.(*protocol.FormRequest)
	if req.Form.Requester != (forms.Requester{Name: "deploy", Source: "demo · via askback · laptop"}) {
		t.Errorf("requester %+v", req.Form.Requester)
	}
	_, err := r.view.Answer(t.Context(), r.session, pending.InteractionID, &protocol.FormAnswer{Result: forms.Result{Action: forms.ActionAccept, Values: forms.Values{"env": forms.TextValue("staging")}}})
	if err != nil {
		t.Fatal(err)
	}
	if row := r.rows(1)[0]; rowText(row) != "accept staging" {
		t.Error(rowText(row))
	}
}

func TestFormTooLarge(t *testing.T) {
	tools := newFake()
	tools.add(tool("demo", "ask"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		_, err := req.Form(ctx, forms.Form{Message: strings.Repeat("m", 9000)})
		return CallResult{}, err
	})
	r := newRig(t, tools)
	if row := r.results("/call demo/ask", 1)[0]; !strings.HasPrefix(rowText(row), "limit_exceeded: The form cannot be sent: ") {
		t.Error(rowText(row))
	}
}

func TestNoFormsInEpoch39(t *testing.T) {
	tools := newFake()
	tools.add(tool("demo", "deploy"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		if req.Form != nil {
			t.Error("a form handler on a connection that knows no forms")
		}
		return CallResult{}, &Error{Code: "no_handler", Message: "The server asks, and this Host cannot show forms."}
	})
	r := newRig(t, tools, protocol.Dialect39)
	if row := r.results("/call demo/deploy", 1)[0]; rowText(row) != "no_handler: The server asks, and this Host cannot show forms." {
		t.Error(rowText(row))
	}
}

func TestRepublishOnChange(t *testing.T) {
	tools := newFake()
	say := func(s string) func(context.Context, CallRequest) (CallResult, error) {
		return func(context.Context, CallRequest) (CallResult, error) { return textResult(s), nil }
	}
	tools.add(tool("demo", "one"), say("1"))
	r := newRig(t, tools)
	tools.add(tool("demo", "two"), say("2"))
	if p := r.await(); p.Err != nil || len(p.Plan.Tools) != 2 {
		t.Fatalf("%+v", p)
	}
	if row := r.results("/call demo/two", 1)[0]; rowText(row) != "2" {
		t.Error(rowText(row))
	}
	// What cannot be offered is named, and the rest stays.
	bad := tool("demo", "three")
	bad.InputSchema = json.RawMessage(`{"type":"object","$ref":"https://example.org/x"}`)
	tools.add(bad, say("3"))
	tools.add(tool("demo", "four"), say("4"))
	p := r.await()
	for len(p.Plan.Tools) != 3 {
		p = r.await()
	}
	if len(p.Plan.LeftOut) != 1 || p.Plan.LeftOut[0].Tool != "three" {
		t.Errorf("%v", p.Plan.LeftOut)
	}
	if row := r.results("/call demo/four", 1)[0]; rowText(row) != "4" {
		t.Error(rowText(row))
	}
}

// A tool that cannot be offered changes no offer, and is named all the same.
func TestLeftOutAloneIsTold(t *testing.T) {
	bad := tool("demo", "odd")
	bad.InputSchema = json.RawMessage(`{"type":"object","$ref":"https://example.org/x"}`)
	for _, first := range []bool{true, false} {
		tools := newFake()
		if first {
			tools.add(tool("demo", "one"), nil)
		}
		r := newRig(t, tools)
		select { // the signal of what was there from the start
		case <-tools.changed:
		default:
		}
		tools.add(bad, nil)
		p := r.await()
		if p.Err != nil || len(p.Plan.LeftOut) != 1 || p.Plan.LeftOut[0].Tool != "odd" {
			t.Errorf("with a tool that is offered %t: %+v", first, p)
		}
		tools.changed <- struct{}{} // nothing is new: nothing is told
		select {
		case p := <-r.published:
			t.Errorf("told again: %+v", p)
		case <-time.After(4 * settle):
		}
	}
}

func TestToolThatIsGone(t *testing.T) {
	tools := newFake()
	tools.add(tool("demo", "gone"), func(context.Context, CallRequest) (CallResult, error) {
		t.Error("a tool that is gone was called")
		return CallResult{}, nil
	})
	r := newRig(t, tools)
	r.provider.mu.Lock()
	clear(r.provider.table)
	r.provider.mu.Unlock()
	if row := r.results("/call demo/gone", 1)[0]; rowText(row) != "stale_binding: The tool gone of demo is not offered any more." {
		t.Error(rowText(row))
	}
}

func TestStopEndsTheCall(t *testing.T) {
	tools := newFake()
	running, ended := make(chan struct{}), make(chan error, 1)
	tools.add(tool("demo", "wait"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		close(running)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return CallResult{}, ctx.Err()
	})
	r := newRig(t, tools)
	turn := r.start("/call demo/wait")
	<-running
	if _, err := r.view.StopTurn(t.Context(), r.session, turn.TurnID, turn.RunID); err != nil {
		t.Fatal(err)
	}
	cause := <-ended
	if e, ok := errors.AsType[*hostclient.Error](cause); !ok || (e.Code != hostclient.CodeCancelled && e.Code != hostclient.CodeReleased) {
		t.Errorf("cause %v", cause)
	}
}

func TestEightAtOnce(t *testing.T) {
	tools := newFake()
	var now, most atomic.Int32
	all := make(chan struct{})
	tools.add(tool("demo", "meet"), func(ctx context.Context, req CallRequest) (CallResult, error) {
		if n := now.Add(1); n == 8 {
			most.Store(n)
			close(all)
		}
		<-all
		return textResult("met"), nil
	})
	r := newRig(t, tools)
	if rows := r.results(strings.TrimSpace(strings.Repeat("/call demo/meet\n", 8)), 8); most.Load() != 8 || rowText(rows[7]) != "met" {
		t.Errorf("%d at once", most.Load())
	}
}

func TestLargeResultArrivesWhole(t *testing.T) {
	tools := newFake()
	large := strings.Repeat("0123456789abcdef", 8<<10) // 128 KiB: in chunks, and under the model's 200,000 characters
	tools.add(tool("demo", "large"), func(context.Context, CallRequest) (CallResult, error) { return textResult(large), nil })
	r := newRig(t, tools)
	if row := r.results("/call demo/large", 1)[0]; rowText(row) != large {
		t.Errorf("%d bytes came", len(rowText(row)))
	}
}
