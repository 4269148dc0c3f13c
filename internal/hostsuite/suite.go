// Package hostsuite is one set of tests for any Runtime Host: hostclient
// connects, publishes, runs Turns, serves calls and answers, and wants what the
// protocol promises. It runs against the test Host of epoch 39, against ours,
// and against a foreign one whose address is in the environment.
package hostsuite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// Target is a Host to test, with a credential that may publish.
type Target struct {
	Options hostclient.Options
	// Asks says that the Host's model asks questions: "/ask N" as a Turn's text.
	Asks bool
	// Lines says that a Turn may have several "/call" lines.
	Lines bool
	// Forms says that the Host is to speak a dialect with forms.
	Forms bool
}

// patience is how long anything may take. A foreign Host may be slow.
const patience = 30 * time.Second

// Run runs the suite against a Host.
func Run(t *testing.T, target Target) {
	s := newSuite(t, target)
	t.Run("handshake", s.handshake)
	t.Run("catalog", s.catalog)
	t.Run("call", s.call)
	t.Run("progress", s.progress)
	t.Run("TR-05_chunked_result", s.chunkedResult)
	t.Run("failed", s.failed)
	t.Run("late_subscriber_reads_rows", s.rows)
	t.Run("stop_dispatched", func(t *testing.T) { s.stop(t, phaseDispatched) })
	t.Run("stop_accepted", func(t *testing.T) { s.stop(t, phaseAccepted) })
	t.Run("stop_in_chunks", func(t *testing.T) { s.stop(t, phaseChunks) })
	t.Run("rejected", s.rejected)
	t.Run("provider_lost", s.providerLost)
	if target.Lines {
		t.Run("parallel_calls", s.parallel)
	}
	if target.Asks {
		t.Run("question", s.question)
		t.Run("question_late", s.questionLate)
		t.Run("TR-11_two_surfaces_one_question", func(t *testing.T) {
			s.twoSurfaces(t, "/ask 2", [2]protocol.InteractionAnswer{choose("One"), choose("Two")})
		})
	}
	if target.Forms {
		t.Run("form", s.form)
		t.Run("form_late", s.formLate)
		t.Run("TR-11_two_surfaces_one_form", func(t *testing.T) {
			s.twoSurfaces(t, s.callText("ask", ""), [2]protocol.InteractionAnswer{integer(1), integer(2)})
		})
	}
	t.Run("unregister", s.unregister)
}

// suite is one view and one provider on the target.
type suite struct {
	target   Target
	view     *watcher
	provider *hostclient.Provider
	server   string // the serverId of its tools, unlike any other's
	running  chan struct{}
	ended    chan error
}

func newSuite(t *testing.T, target Target) *suite {
	s := &suite{target: target, server: "suite-" + hostclient.NewID()[:8], running: make(chan struct{}, 8), ended: make(chan error, 8)}
	if target.Options.InstanceID == "" {
		s.target.Options.InstanceID = hostclient.NewID()
	}
	s.view = watch(t, hostclient.NewView(s.target.Options))
	s.provider = hostclient.NewProvider(s.target.Options, hostclient.HandlerFunc(s.serve))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.provider.Close(ctx); err != nil {
			t.Errorf("closing the provider: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.view.Ready(ctx); err != nil {
		t.Fatalf("the view does not connect: %v", err)
	}
	if err := s.provider.Publish(ctx, []hostclient.Offer{s.offer(s.server)}); err != nil {
		t.Fatalf("the offers are not taken: %v", err)
	}
	return s
}

// toolNames are the tools of the suite; serve says what they do.
var toolNames = []string{"echo", "steps", "large", "explode", "wait", "ask"}

func (s *suite) offer(server string) hostclient.Offer {
	o := hostclient.Offer{
		OfferID: server, Version: "1", Affinity: protocol.AffinitySession, HostPathAccess: protocol.HostPathNone, Label: "suite",
	}
	for _, name := range toolNames {
		o.Tools = append(o.Tools, hostclient.Tool{ServerID: server, Name: name, Description: "For a test.", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return o
}

const (
	largeSize = 100 << 10
	explosion = "server_error: it exploded"
)

func text(s string) hostclient.ToolResult {
	return hostclient.ToolResult{Content: []hostclient.ContentBlock{{Type: protocol.BlockText, Text: s}}}
}

func (s *suite) serve(ctx context.Context, inv *hostclient.Invocation) {
	switch inv.Call().ToolName {
	case "echo":
		_ = inv.Result(text("echo " + string(inv.Call().Arguments)))
	case "steps":
		for i := range 4 {
			inv.Progress(float64(i), 3)
		}
		_ = inv.Result(text("done"))
	case "large":
		_ = inv.Result(text(strings.Repeat("0123456789abcdef", largeSize/16)))
	case "explode":
		_ = inv.Fail(explosion)
	case "wait":
		s.running <- struct{}{}
		<-ctx.Done()
		s.ended <- context.Cause(ctx)
	case "ask":
		result, err := inv.Ask(ctx, forms.Form{
			Message: "Where to?", Requester: forms.Requester{Name: "ask", Source: s.server},
			Fields: []forms.Field{{Kind: forms.KindInteger, Name: "n", Label: "N", Required: true}},
		})
		if err != nil {
			_ = inv.Fail(explosion)
			return
		}
		_ = inv.Result(text(fmt.Sprint(result.Action, " ", result.Values["n"].Number())))
	}
}

// watcher is a view whose events are all kept.
type watcher struct {
	*hostclient.View
	mu     sync.Mutex
	events []hostclient.Event
	news   chan struct{}
}

func watch(t *testing.T, v *hostclient.View) *watcher {
	w := &watcher{View: v, news: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := v.Next(context.Background())
			if err != nil {
				return
			}
			w.mu.Lock()
			w.events = append(w.events, e)
			close(w.news)
			w.news = make(chan struct{})
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = v.Close()
		<-done
	})
	return w
}

// soFar are the events that came, and a channel that is closed by the next one.
func (w *watcher) soFar() ([]hostclient.Event, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[:len(w.events):len(w.events)], w.news
}

// find waits for the first event that want accepts.
func find[E hostclient.Event](t *testing.T, w *watcher, what string, want func(E) bool) E {
	t.Helper()
	timeout := time.After(patience)
	for from := 0; ; {
		events, news := w.soFar()
		for ; from < len(events); from++ {
			if e, ok := events[from].(E); ok && want(e) {
				return e
			}
		}
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("there was no %s", what)
		}
	}
}

// count counts the events so far that want accepts.
func count[E hostclient.Event](w *watcher, want func(E) bool) (n int) {
	events, _ := w.soFar()
	for _, e := range events {
		if e, ok := e.(E); ok && want(e) {
			n++
		}
	}
	return n
}

// session makes a session, shows it, and removes it at the end.
func (s *suite) session(t *testing.T) string {
	t.Helper()
	item, err := s.view.CreateSession(t.Context(), protocol.SessionCreateInput{Name: "Suite", PermissionMode: protocol.PermissionBypass})
	if err != nil {
		t.Fatal(err)
	}
	if item.PermissionMode != protocol.PermissionBypass || item.Name != "Suite" {
		t.Errorf("the session is %+v", item)
	}
	if err := s.view.Show(t.Context(), item.ID, hostclient.ShowOptions{Rows: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 20 { // a Turn that has just ended may still change the revision
			now, err := s.view.Session(ctx, item.ID)
			if err != nil || now == nil {
				return
			}
			if removed, err := s.view.RemoveSession(ctx, item.ID, now.Revision); removed || (err != nil && hostclient.RefusalOf(err) != protocol.CodeSessionBusy) {
				return
			}
		}
	})
	return item.ID
}

// start starts a Turn from the provider's connection, as foreign Hosts need it.
func (s *suite) start(t *testing.T, session, what string) *protocol.TurnSnapshot {
	t.Helper()
	res, err := hostclient.StartTurn(t.Context(), s.view.View, s.provider, protocol.TurnStartInput{
		SessionID: session, TurnID: hostclient.NewID(), Content: protocol.Content{Text: what},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res.Turn
}

// ends waits for the end of a Turn.
func (s *suite) ends(t *testing.T, turn *protocol.TurnSnapshot, want protocol.TurnStatus) {
	t.Helper()
	e := find(t, s.view, "end of the Turn", func(e hostclient.SessionChanged) bool {
		r := e.Snapshot.RootTurn
		return r != nil && r.TurnID == turn.TurnID && r.Status.Terminal()
	})
	if got := e.Snapshot.RootTurn.Status; got != want {
		t.Errorf("the Turn is %s: %s", got, e.Snapshot.RootTurn.FailureMessage)
	}
}

// result waits for the result row of the Turn's call of a tool of the suite.
func (s *suite) result(t *testing.T, turn *protocol.TurnSnapshot) hostclient.Row {
	t.Helper()
	return s.results(t, turn, 1)[0]
}

func (s *suite) results(t *testing.T, turn *protocol.TurnSnapshot, n int) []hostclient.Row {
	t.Helper()
	var got []hostclient.Row
	find(t, s.view, "result row", func(e hostclient.TranscriptRows) bool {
		for _, row := range e.Rows {
			told := slices.ContainsFunc(got, func(r hostclient.Row) bool { return r.ToolUseID == row.ToolUseID }) // a row may be told again
			if row.Type == protocol.RowToolResult && row.TurnID == turn.TurnID && !told && s.own(row.ToolUseID) {
				got = append(got, row)
			}
		}
		return len(got) >= n
	})
	return got
}

// own reports whether a call is of a tool of the suite, not of the Host's own.
func (s *suite) own(toolUse string) bool {
	return count(s.view, func(e hostclient.TranscriptRows) bool {
		for _, row := range e.Rows {
			if row.Type == protocol.RowToolCall && row.ID == toolUse {
				return strings.Contains(row.ToolName, "suite")
			}
		}
		return false
	}) > 0
}

// said is the text of a result row, "" when the row keeps it in another form, as
// some Hosts do with a large one.
func said(row hostclient.Row) string {
	if row.Content == nil {
		return ""
	}
	switch row.Content.Kind {
	case protocol.RowContentText:
		return row.Content.Text
	case protocol.RowContentJSON:
	default:
		return ""
	}
	var value struct{ Content []struct{ Text string } }
	if json.Unmarshal(row.Content.Value, &value) != nil || len(value.Content) == 0 {
		return string(row.Content.Value)
	}
	return value.Content[0].Text
}

func (s *suite) callText(tool, args string) string {
	return "/call " + s.server + "/" + tool + " " + args
}
