package lineapp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"askback/forms"
	"askback/tui/hostview"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an app on a scripted Host, with somebody who types.
type rig struct {
	t    *testing.T
	app  *App
	in   *io.PipeWriter
	intr chan struct{}
	ours *hostview.Started
	done chan error
	stop context.CancelFunc
	ctx  context.Context
	now  time.Time

	mu      sync.Mutex
	out     bytes.Buffer
	calls   []string
	answers []hostview.Answer
	fail    error // of the next answer
	turns   int
}

func (r *rig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *rig) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) failNext(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = err
}

func (r *rig) given() []hostview.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hostview.Answer(nil), r.answers...)
}

func (r *rig) call(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *rig) called(s string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.calls, "\n")+"\n", s+"\n")
}

func (r *rig) Run(context.Context, func(hostview.Event)) error { return nil }
func (r *rig) Open(_ context.Context, id string) error {
	r.call("open %s", id)
	rows := hostview.Rows{SessionID: id, Reset: true, Start: true}
	if id == "s-large" { // only what is after the large row comes by itself
		rows.Start, rows.Rows = false, []hostview.Row{{Key: "t", Kind: hostview.RowTurn, Status: "completed"}}
	}
	r.tell(hostview.Projection{SessionID: id}, rows)
	return nil
}
func (r *rig) Older(_ context.Context, id string) error {
	r.call("older %s", id)
	r.tell(hostview.Rows{SessionID: id, Older: true, Start: true, Rows: []hostview.Row{
		{Key: "u", Kind: hostview.RowUser, Text: "/call demo/large"}, {Key: "r", Kind: hostview.RowToolResult, ToolUseID: "c0", Text: "a large result"}}})
	return nil
}
func (r *rig) Create(_ context.Context, s hostview.NewSession) (hostview.Session, error) {
	r.call("create %s %s", s.Name, s.Mode)
	return hostview.Session{ID: "s-" + s.Name, Name: s.Name, Mode: s.Mode}, nil
}
func (r *rig) Remove(_ context.Context, s hostview.Session) error {
	r.call("remove %s", s.ID)
	return nil
}
func (r *rig) SetMode(_ context.Context, s hostview.Session, mode string) (hostview.Session, error) {
	r.call("mode %s %s", s.ID, mode)
	s.Mode = mode
	return s, nil
}
func (r *rig) Start(_ context.Context, session, text string) (hostview.Turn, error) {
	r.mu.Lock()
	r.turns++
	r.mu.Unlock()
	r.call("start %s", text)
	t := r.turn("running")
	r.tell(hostview.Projection{SessionID: "s1", Turn: &t})
	r.call("started %s", text)
	return t, nil
}
func (r *rig) Stop(_ context.Context, t hostview.Turn) (hostview.Turn, error) {
	r.call("stop %s", t.TurnID)
	t.Status = "cancelled"
	return t, nil
}
func (r *rig) Answer(_ context.Context, in hostview.Interaction, a hostview.Answer) (hostview.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.fail
	r.fail = nil
	if err != nil {
		return hostview.Outcome{}, err
	}
	r.answers = append(r.answers, a)
	return hostview.Outcome{Status: hostview.StatusAnswered, Answer: a}, nil
}

func (r *rig) turn(status string) hostview.Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return hostview.Turn{SessionID: "s1", TurnID: fmt.Sprintf("t%d", r.turns), RunID: "r", Status: status}
}

type rigServers struct{ restarted chan string }

func (rigServers) Servers() []hostview.Server {
	return []hostview.Server{{Name: "demo", State: "ready", Tools: 1, Stderr: []string{"a\x1b[2Jb"}}}
}
func (rigServers) Tools() []hostview.Tool {
	return []hostview.Tool{{Server: "demo", Name: "deploy", Description: "Deploys.\n> fake", InputSchema: []byte(`{"type":"object","properties":{"artifact":{"type":"string"}},"required":["artifact"]}`)}}
}
func (s rigServers) Restart(_ context.Context, name string) error { s.restarted <- name; return nil }
func (rigServers) Changed() <-chan struct{}                       { return nil }

func host(revision string) hostview.Host {
	return hostview.Host{Address: "wss://devbox:7443", RootID: "r", Revision: revision, Dialect: 81}
}

func newRig(t *testing.T, set ...func(*Options)) *rig {
	in, w := io.Pipe()
	r := &rig{t: t, in: w, intr: make(chan struct{}), ours: hostview.NewStarted(), done: make(chan error, 1), now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	o := Options{Backend: r, Servers: rigServers{make(chan string, 1)}, In: in, Out: r, Version: "test", Interrupt: r.intr, Now: r.clock}
	for _, f := range set {
		f(&o)
	}
	r.app = New(o, r.ours)
	r.ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.done <- r.app.Run(r.ctx) }()
	t.Cleanup(func() {
		r.stop()
		w.Close()
		in.Close()
	})
	return r
}

// connected is a rig whose session is open.
func connected(t *testing.T, set ...func(*Options)) *rig {
	r := newRig(t, set...)
	r.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReady, Host: host(hostview.Ours)},
		hostview.Catalog{Sessions: []hostview.Session{{ID: "s1", Name: "deploys", Mode: "ask", LastUsed: time.Unix(1000, 0)}, {ID: "s0", Name: "old", Status: hostview.StatusWaitingForUser, LastUsed: time.Unix(0, 0)}}})
	return r.see("Session deploys\n> ")
}

func (r *rig) tell(events ...hostview.Event) *rig {
	for _, e := range events {
		r.app.Tell(r.ctx, e)
	}
	return r
}

// see waits for a text and forgets what was printed up to it.
func (r *rig) see(texts ...string) *rig {
	r.t.Helper()
	for _, s := range texts {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			r.mu.Lock()
			i := bytes.Index(r.out.Bytes(), []byte(s))
			if i >= 0 {
				r.out.Next(i + len(s))
			}
			r.mu.Unlock()
			if i >= 0 {
				break
			}
			if time.Now().After(end) {
				r.t.Fatalf("%q was not printed after what was seen before:\n%s", s, r.text())
			}
		}
	}
	return r
}

func (r *rig) line(s string) *rig {
	if _, err := io.WriteString(r.in, s+"\n"); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// begin types what starts a Turn and waits until its start was told: what is told next comes after it, and no line of
// the person is under way.
func (r *rig) begin(s string) *rig {
	r.t.Helper()
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return strings.Count(strings.Join(r.calls, "\n")+"\n", "started "+s+"\n")
	}
	before := count()
	r.line(s)
	for end := time.Now().Add(20 * time.Second); count() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s starts nothing:\n%s", s, r.text())
		}
	}
	return r
}

func (r *rig) ask(id, call string) *rig {
	t := r.turn("waiting_for_user")
	f := forms.Form{Message: "Where to?", Requester: forms.Requester{Name: "deploy", Source: "demo"}, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "note", Label: "Note", Required: true}, {Kind: forms.KindString, Name: "api_key", Label: "API key"}}}
	return r.tell(hostview.Projection{SessionID: "s1", Turn: &t, Pending: []hostview.Interaction{{SessionID: "s1", ID: id, TurnID: t.TurnID, Kind: hostview.KindForm, ToolUseID: call, Form: f}}})
}

func (r *rig) ends(want error) *rig {
	r.t.Helper()
	select {
	case err := <-r.done:
		if !errors.Is(err, want) {
			r.t.Errorf("ended with %v, want %v", err, want)
		}
	case <-time.After(10 * time.Second):
		r.t.Fatalf("it does not end:\n%s", r.text())
	}
	return r
}

func TestCallAndForm(t *testing.T) {
	r := connected(t)
	r.begin(`/call demo/deploy {"artifact":"a"}`)
	r.ask("i1", "c1").see("deploy, demo", "! Never enter passwords, API keys, access tokens or payment data", "| Where to?", "| Note")
	r.line("first").see("API key").line("s3cret").see("Review", "| Note: first").line("submit")
	r.see("Sending.", "The Host has the answer: accepted.")
	// The same call asks again: it starts from its last answer, except for what looks like a secret.
	r.ask("i2", "c1").see("| first")
	if strings.Contains(r.text(), "s3cret") {
		t.Error("a secret came back")
	}
	r.line("").see("API key").line("").see("| Note: first").line("submit").see("The Host has the answer")
	done := r.turn("completed")
	r.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{
		{Key: "c", Kind: hostview.RowToolCall, ToolUseID: "c1", Tool: "deploy", Server: "demo", Args: []byte("{}")},
		{Key: "r", Kind: hostview.RowToolResult, ToolUseID: "c1", Text: "done\x1b[2J\n> /quit"},
	}}, hostview.Projection{SessionID: "s1", Turn: &done})
	r.see("Tool demo/deploy: done\n| done\\x1b[2J\n| > /quit\n", "The Turn is over: completed", "> ")
	// What another call asks starts empty.
	r.begin("/call demo/deploy").ask("i3", "c2").see("| Where to?", "| Note")
	time.Sleep(10 * time.Millisecond)
	if strings.Contains(r.text(), "first") {
		t.Error("an answer of one call is in the form of another")
	}
	if got := r.given(); len(got) != 2 || got[1].Form.Values["note"].Text() != "first" {
		t.Errorf("answers: %v", r.given())
	}
}

func TestFormThatEndsOtherwise(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		r := connected(t)
		r.begin("/call demo/deploy").ask("i1", "c1").see("| Note")
		r.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: "provider_disconnected"}})
		r.see("This form has ended: the provider of the tool was lost. Nothing was sent.")
		if len(r.given()) != 0 {
			t.Error("answered")
		}
	})
	t.Run("answered elsewhere", func(t *testing.T) {
		r := connected(t)
		r.begin("/call demo/deploy").ask("i1", "c1").see("| Note")
		r.tell(hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: forms.Decline()}}})
		r.see("answered elsewhere (declined)")
	})
	t.Run("refused and asked again", func(t *testing.T) {
		r := connected(t)
		r.begin("/call demo/deploy").ask("i1", "c1").see("| Note")
		r.failNext(&hostview.Error{Code: hostview.CodeOperationConflict, Message: `"note": too short`})
		r.line("x").see("API key").line("").see("Review").line("submit").see(`not stored: "note": too short`, "| Where to?", "| x")
		r.line("").see("API key").line("").see("Review").line("submit").see("The Host has the answer")
	})
	t.Run("too late", func(t *testing.T) {
		r := connected(t)
		r.begin("/call demo/deploy").ask("i1", "c1").see("| Note")
		r.failNext(&hostview.Error{Code: hostview.CodeAlreadyResolved, Message: "answered elsewhere first"})
		r.line("x").see("API key").line("").see("Review").line("submit").see("too late: answered elsewhere first")
	})
	t.Run("the input ends", func(t *testing.T) {
		r := connected(t)
		r.begin("/call demo/deploy").ask("i1", "c1").see("| Note")
		r.in.Close()
		r.see("The input has ended. Nothing was sent.").ends(ErrEnded)
		if len(r.given()) != 0 {
			t.Error("answered")
		}
	})
}

func TestPromptIsTakenBackForAForm(t *testing.T) {
	r := connected(t)
	io.WriteString(r.in, "half a li")
	r.ask("i1", "c1").see("| Where to?")
	r.line("ne").see("dropped").line("real").see("API key").line("").see("| Note: real")
	if r.called("start half a line") || r.called("start ne") {
		t.Error(r.text())
	}
}

func TestCommands(t *testing.T) {
	r := connected(t)
	r.line("/help").see("/call SERVER/TOOL").line("/nope").see("unknown command /nope")
	r.line("/tools").see("demo/deploy\n| Deploys.\n| > fake\n  arguments: artifact (string, required)")
	r.line("/sessions").see("* deploys (s1)").see("old (s0, waits for you)").line("/host").see("our own")
	r.line("/servers").see("demo: ready, 1 tools").see(`| stderr: a\x1b[2Jb`)
	r.line("/restart demo").see("Write yes").line("y").see("> ").line("/restart demo").see("Write yes").line("yes")
	if got := <-r.app.a.o.Servers.(rigServers).restarted; got != "demo" {
		t.Errorf("restarted %s", got)
	}
	r.line("/restart").see(`No server is called ""`).line("/restart moon").see(`No server is called "moon"`)
	r.line("/stop").see("No Turn is running").line("/form").see("No form waits")
	r.line("/new next").see("Session next").line("/open old").see("Session old").line("/open zzz").see(`No session is called "zzz"`)
	r.line("/remove old").see("cannot be undone", "Write yes").line("yes").see("Removed.")
	if !r.called("remove s0") || !r.called("create next ") {
		t.Error(r.text())
	}
	r.line("hello").see("No session is open").line("/quit").ends(nil)
	if strings.Contains(r.text(), "\x1b") {
		t.Error("an escape byte")
	}
}

// rigEmpty has servers that offer nothing yet.
type rigEmpty struct{ rigServers }

func (rigEmpty) Tools() []hostview.Tool     { return nil }
func (rigEmpty) Servers() []hostview.Server { return nil }

func TestNothingToList(t *testing.T) {
	r := connected(t, func(o *Options) { o.Servers = rigEmpty{} })
	r.line("/tools").see("No tool is on offer.").line("/servers").see("No server is configured.")
}

// A session whose last row is too large to come by itself is shown all the same, once.
func TestLargeLastRow(t *testing.T) {
	r := connected(t)
	r.line("/new large").see("Session large", "You said:\n| /call demo/large", "| a large result")
	r.line("/open deploys").see("Session deploys")
	r.mu.Lock()
	defer r.mu.Unlock()
	if calls := strings.Join(r.calls, "\n"); strings.Count(calls, "older") != 1 {
		t.Error(calls)
	}
}

// A result that comes after the Turn's end is printed before the next line is read: the input may end the program.
func TestLateResult(t *testing.T) {
	r := connected(t)
	r.begin("/call demo/large")
	call := hostview.Row{Key: "c", Kind: hostview.RowToolCall, ToolUseID: "c1", Tool: "large", Server: "demo", Args: []byte("{}")}
	r.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{call}}).see("Tool demo/large runs with {}")
	done := r.turn("completed")
	r.tell(hostview.Projection{SessionID: "s1", Turn: &done}).see("The Turn is over: completed.\n")
	go io.WriteString(r.in, "/quit\n")
	time.Sleep(30 * time.Millisecond)
	if s := r.text(); s != "" {
		t.Errorf("a prompt before the result: %q", s)
	}
	r.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "r", Kind: hostview.RowToolResult, ToolUseID: "c1", Text: "a large result"}}})
	r.see("Tool demo/large: done\n| a large result\n> ").ends(nil)
}

// The end of a Turn is said once: its row in the transcript says no more.
func TestEndIsSaidOnce(t *testing.T) {
	r := connected(t)
	r.begin("hello")
	row := func(key, turn string) hostview.Row {
		return hostview.Row{Key: key, Kind: hostview.RowTurn, TurnID: turn, Text: "the Turn failed: no model"}
	}
	failed := r.turn("failed")
	failed.Message = "no model"
	r.tell(hostview.Projection{SessionID: "s1", Turn: &failed}).see("The Turn is over: failed, no model.")
	r.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{row("t", failed.TurnID), row("u", "another"), {Key: "n", Kind: hostview.RowNote, Text: "end"}}})
	for !strings.Contains(r.text(), "| end\n") {
		time.Sleep(time.Millisecond)
	}
	if n := strings.Count(r.text(), "the Turn failed"); n != 1 {
		t.Errorf("%d times:\n%s", n, r.text())
	}
}

// Without a terminal nobody can leave what waits for a Host that was never there.
func TestHostThatIsNotThere(t *testing.T) {
	gone := hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting, Detail: "connection refused"}
	r := newRig(t).tell(gone)
	select {
	case err := <-r.done:
		if e, ok := errors.AsType[*Refused](err); !ok || e.Why != "connection refused" {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	at := newRig(t, func(o *Options) { o.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } })
	at.tell(gone).see("reconnecting: connection refused")
	at.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReady, Host: host(hostview.Ours)}).see("ready")
	at.stop()
	at.ends(context.Canceled)
}

func TestInterrupts(t *testing.T) {
	t.Run("a Turn", func(t *testing.T) {
		r := connected(t)
		r.begin("hello").tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "n", Kind: hostview.RowNote, Text: "under way"}}})
		r.see("| under way") // so the Turn, told before, is known
		r.intr <- struct{}{}
		r.see("stops the Turn")
		r.pass(time.Second)
		r.intr <- struct{}{}
		r.see("Stopping the Turn.", "> ")
		if !r.called("stop t1") {
			t.Error(r.text())
		}
	})
	t.Run("leaving", func(t *testing.T) {
		r := connected(t)
		r.intr <- struct{}{}
		r.see("ctrl+c again leaves")
		r.pass(3 * time.Second)
		r.intr <- struct{}{}
		r.see("ctrl+c again leaves")
		r.intr <- struct{}{}
		r.ends(nil)
	})
}

func TestForeignHost(t *testing.T) {
	foreign := func(t *testing.T, mode string) *rig {
		r := newRig(t, func(o *Options) { o.PermissionMode = mode })
		return r.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReady, Host: host("3")},
			hostview.Catalog{Sessions: []hostview.Session{{ID: "s1", Name: "deploys", Mode: "ask"}}}).see("Session deploys")
	}
	t.Run("bypass is never silent", func(t *testing.T) {
		r := foreign(t, "").see("only in sessions in mode bypass", "> ")
		if r.called("mode s1 bypass") {
			t.Error("set")
		}
	})
	t.Run("bypass in advance", func(t *testing.T) {
		if r := foreign(t, "bypass").see("mode bypass now"); !r.called("mode s1 bypass") {
			t.Error("not set")
		}
	})
	t.Run("a call is asked about", func(t *testing.T) {
		r := foreign(t, "").see("> ")
		r.line("/call demo/deploy").see("may do something else", "Write yes").line("no").see("> ")
		if r.called("start /call demo/deploy") {
			t.Fatal("sent")
		}
		r.line("/call demo/deploy").see("Write yes").line("yes")
		for !r.called("start /call demo/deploy") {
			time.Sleep(time.Millisecond)
		}
	})
	t.Run("permission", func(t *testing.T) {
		r := foreign(t, "").see("> ")
		turn := r.turn("waiting_for_user")
		io.WriteString(r.in, "3") // a line is under way
		r.tell(hostview.Projection{SessionID: "s1", Turn: &turn, Pending: []hostview.Interaction{{SessionID: "s1", ID: "i1", Kind: hostview.KindPermission, Prompt: "Run it?"}}})
		r.see("permission", "| Run it?", "1. allow once").line("").see("dropped").line("3").see("Review", "| Decision: deny").line("submit").see("The Host has the answer")
		if got := r.given(); len(got) != 1 || got[0].Allow {
			t.Errorf("answers: %v", r.given())
		}
	})
}

func TestConnectionAndProgress(t *testing.T) {
	r := connected(t)
	r.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReconnecting, Detail: "cut\x1b[2J"}).see(`reconnecting: cut\x1b[2J`)
	r.line("hello").see("not reachable")
	r.tell(hostview.Connection{Link: hostview.LinkView, State: hostview.StateReady, Host: host(hostview.Ours)}).see("ready")
	for i := range 10 {
		r.tell(hostview.ToolEvent{SessionID: "s1", ToolUseID: "c1", Phase: hostview.PhaseProgress, Current: i + 1, Total: 10})
	}
	r.see("step 3 of 10", "step 5 of 10", "step 8 of 10", "step 10 of 10")
	r.tell(hostview.Removed{SessionID: "s1"}).see("This session was removed")
	r.stop()
	r.ends(context.Canceled)
}

// A connection that is refused is not made again by itself, and nobody reads what is typed meanwhile.
func TestRefusedEnds(t *testing.T) {
	refused := hostview.Connection{Link: hostview.LinkView, State: hostview.StateRefused, Detail: "the token is wrong"}
	for name, at := range map[string]func(t *testing.T) *rig{
		"before anything": func(t *testing.T) *rig { return newRig(t) },
		"at the prompt":   func(t *testing.T) *rig { return connected(t) },
		"in a form":       func(t *testing.T) *rig { return connected(t).ask("i1", "c1").see("| Note") },
	} {
		t.Run(name, func(t *testing.T) {
			r := at(t).tell(refused).see("refused: the token is wrong")
			select {
			case err := <-r.done:
				if e, ok := errors.AsType[*Refused](err); !ok || e.Why != "the token is wrong" {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
			if len(r.given()) != 0 {
				t.Error("answered")
			}
		})
	}
}
