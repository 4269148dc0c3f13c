package tui

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"askback/hostclient"
	"askback/protocol"
	"askback/tui/hostview"
)

// This file alone knows the client of a Host and the protocol's shapes: it turns both into the plain values of
// hostview.

// catalogPause is how soon after a list of sessions the next one is asked for: a Host hints at changes often.
const catalogPause = 250 * time.Millisecond

// HostOptions says how a Host is reached.
type HostOptions struct {
	View *hostclient.View
	// Provider is the connection over which our tools are offered; nil where none are. Turns start on it where
	// its credential allows that, so that the Host binds our own tools first.
	Provider *hostclient.Provider
	Address  string // what the person would type
	Embedded bool   // the Host is in this process
}

// HostBackend is a Backend on connections to a Host. It closes neither.
type HostBackend struct {
	o HostOptions

	mu       sync.Mutex
	send     func(hostview.Event)
	openings *openings
	streams  streams
	refresh  chan struct{} // one slot: the list of sessions is out of date
}

// NewHostBackend returns the Backend. Its Run may be called once.
func NewHostBackend(o HostOptions) *HostBackend {
	return &HostBackend{o: o, openings: newOpenings(), streams: streams{}, refresh: make(chan struct{}, 1)}
}

// Run implements hostview.Backend.
func (b *HostBackend) Run(ctx context.Context, send func(hostview.Event)) error {
	b.mu.Lock()
	b.send = send
	b.mu.Unlock()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { b.catalogs(ctx) })
	for {
		e, err := b.o.View.Next(ctx)
		if err != nil {
			if ctx.Err() != nil || hostclient.CodeOf(err) == hostclient.CodeClosed {
				return nil
			}
			return err
		}
		b.event(ctx, &wg, e)
	}
}

func (b *HostBackend) tell(e hostview.Event) {
	b.mu.Lock()
	send := b.send
	b.mu.Unlock()
	if send != nil {
		send(e)
	}
}

// ProviderConnection tells how the provider connection stands. Whoever takes that connection's events calls it.
func (b *HostBackend) ProviderConnection(c hostclient.Connection) {
	b.tell(b.connection(hostview.LinkProvider, c))
}

// event takes one event of the view.
func (b *HostBackend) event(ctx context.Context, wg *sync.WaitGroup, e hostclient.Event) {
	switch e := e.(type) {
	case hostclient.Connection:
		b.tell(b.connection(hostview.LinkView, e))
		if e.State == hostclient.StateReady {
			b.relist()
		}
	case hostclient.CatalogChanged:
		if e.Catalog == hostclient.CatalogSessions {
			b.relist()
		}
	case hostclient.SessionOpened:
		b.mu.Lock()
		clear(b.streams)
		b.mu.Unlock()
		for _, id := range b.project(e.SessionID, e.Snapshot, true) {
			wg.Go(func() { b.lookBack(ctx, e.SessionID, id) })
		}
	case hostclient.SessionChanged:
		b.project(e.SessionID, e.Snapshot, false)
	case hostclient.SessionDelta:
		b.delta(e)
	case hostclient.ToolActivity:
		if t, ok := toolEvent(e.SessionID, e.Event); ok {
			b.tell(t)
		}
	case hostclient.TranscriptRows:
		rows := append(rowsOf(e.Rows), rowsOf(e.Overlay)...)
		b.tell(hostview.Rows{SessionID: e.SessionID, Rows: rows, Reset: e.Reset, Start: e.Reset && !e.HasOlder})
	case hostclient.SessionClosed:
		b.openings.forget(e.SessionID)
		why := ""
		if e.Err != nil {
			why = e.Err.Error()
		}
		b.tell(hostview.Removed{SessionID: e.SessionID, Why: why})
	case hostclient.InteractionSettled:
		b.settled(e)
	}
}

// connection says how a link stands.
func (b *HostBackend) connection(l hostview.Link, c hostclient.Connection) hostview.Connection {
	out := hostview.Connection{Link: l, Attempt: c.Attempt, Retry: c.RetryAt}
	switch c.State {
	case hostclient.StateReady:
		out.State = hostview.StateReady
	case hostclient.StateRefused:
		out.State = hostview.StateRefused
	case hostclient.StateClosed:
		out.State = hostview.StateClosed
	case hostclient.StateWaiting:
		out.State = hostview.StateReconnecting
	default:
		out.State = hostview.StateConnecting
		if c.Attempt > 1 || c.Cause != nil {
			out.State = hostview.StateReconnecting
		}
		if c.State == hostclient.StateStarting {
			out.Detail = "the Host is " + string(c.Wait)
		}
	}
	if c.Cause != nil {
		out.Detail = c.Cause.Message
	}
	out.Host = hostview.Host{Address: b.o.Address, Embedded: b.o.Embedded}
	if h := c.Host; h != (hostclient.HostInfo{}) {
		out.Host.RootID, out.Host.Epoch, out.Host.Dialect = h.RootID, h.HostEpoch, int(h.Dialect)
		out.Host.Revision = h.CompositionRevision
	}
	return out
}

// Retry implements hostview.Retrier.
func (b *HostBackend) Retry() {
	b.o.View.Retry()
	if b.o.Provider != nil {
		b.o.Provider.Retry()
	}
}

func (b *HostBackend) relist() {
	select {
	case b.refresh <- struct{}{}:
	default:
	}
}

// catalogs asks for the list of sessions whenever it is out of date, and not more often than useful.
func (b *HostBackend) catalogs(ctx context.Context) {
	for {
		select {
		case <-b.refresh:
		case <-ctx.Done():
			return
		}
		if all, err := b.o.View.Sessions(ctx); err == nil {
			out := make([]hostview.Session, 0, len(all))
			for _, s := range all {
				if s.Kind != protocol.KindUnsupportedLegacyRecord {
					out = append(out, sessionOf(s))
				}
			}
			b.tell(hostview.Catalog{Sessions: out})
		} else if hostclient.RefusalOf(err) != "" {
			b.tell(hostview.Logged{Entry: hostview.LogEntry{Time: time.Now(), Level: "warn", Text: err.Error()}})
			b.tell(hostview.Unlisted{Why: err.Error()})
		}
		select {
		case <-time.After(catalogPause):
		case <-ctx.Done():
			return
		}
	}
}

// project tells a snapshot. gone is what had been pending when the session was left and is not any more.
func (b *HostBackend) project(session string, s protocol.Snapshot, opened bool) (gone []string) {
	p := hostview.Projection{SessionID: session, Queued: len(s.Queue.Steering) + len(s.Queue.Followup)}
	if s.RootTurn != nil {
		t := turnOf(*s.RootTurn)
		p.Turn = &t
	}
	var ids []string
	for _, in := range s.Interactions.Pending {
		ids = append(ids, in.InteractionID)
		p.Pending = append(p.Pending, interactionOf(in))
	}
	gone = b.openings.saw(session, ids, opened)
	b.tell(p)
	return gone
}

// lookBack asks how an Interaction ended while its session was not shown.
func (b *HostBackend) lookBack(ctx context.Context, session, id string) {
	in, err := b.o.View.Interaction(ctx, session, id)
	e := hostclient.InteractionSettled{SessionID: session, InteractionID: id}
	switch {
	case err == nil && in.Status == protocol.InteractionPending:
		return
	case err == nil:
		e.Interaction = *in
	case hostclient.RefusalOf(err) == protocol.CodeNotFound:
		e.Gone = true
	default:
		e.Err = err
	}
	b.settled(e)
}

// settled tells an end once.
func (b *HostBackend) settled(e hostclient.InteractionSettled) {
	if !b.openings.settled(e.SessionID, e.InteractionID) {
		return
	}
	o := hostview.Outcome{Status: hostview.StatusUnknown}
	switch {
	case e.Gone:
		o.Status = hostview.StatusGone
	case e.Err == nil:
		o = outcomeOf(e.Interaction)
	}
	b.tell(hostview.Settled{SessionID: e.SessionID, InteractionID: e.InteractionID, Outcome: o})
}

// delta tells what a piece of text adds: pieces may overlap what is known.
func (b *HostBackend) delta(e hostclient.SessionDelta) {
	d := e.Delta
	if d.Kind != protocol.DeltaText {
		return
	}
	b.mu.Lock()
	text := b.streams.add(d.MessageID, int(d.StartOffset), d.Text, d.Reset)
	if d.Complete {
		delete(b.streams, d.MessageID)
	}
	b.mu.Unlock()
	b.tell(hostview.Text{SessionID: e.SessionID, TurnID: d.TurnID, Key: d.MessageID, Append: text, Reset: d.Reset, Complete: d.Complete})
}

// Open implements hostview.Sessions.
func (b *HostBackend) Open(ctx context.Context, id string) error {
	if before := b.openings.enter(id); before != "" {
		b.o.View.Hide(before)
	}
	return hostError(b.o.View.Show(ctx, id, hostclient.ShowOptions{Rows: true}))
}

// Older implements hostview.Sessions.
func (b *HostBackend) Older(ctx context.Context, id string) error {
	rows, more, err := b.o.View.OlderRows(ctx, id, 0)
	if err != nil {
		return hostError(err)
	}
	b.tell(hostview.Rows{SessionID: id, Rows: rowsOf(rows), Older: true, Start: !more})
	return nil
}

// Create implements hostview.Sessions.
func (b *HostBackend) Create(ctx context.Context, s hostview.NewSession) (hostview.Session, error) {
	item, err := b.o.View.CreateSession(ctx, protocol.SessionCreateInput{Name: s.Name, PermissionMode: protocol.PermissionMode(s.Mode)})
	if err != nil {
		return hostview.Session{}, hostError(err)
	}
	b.relist()
	return sessionOf(*item), nil
}

// Remove implements hostview.Sessions. What is gone already is removed.
func (b *HostBackend) Remove(ctx context.Context, s hostview.Session) error {
	err := b.atRevision(ctx, s.ID, func(now *protocol.SessionItem) (bool, error) {
		return b.o.View.RemoveSession(ctx, s.ID, now.Revision)
	})
	if hostview.CodeOf(err) == hostview.CodeNotFound {
		return nil
	}
	return err
}

// SetMode implements hostview.Sessions.
func (b *HostBackend) SetMode(ctx context.Context, s hostview.Session, mode string) (hostview.Session, error) {
	err := b.atRevision(ctx, s.ID, func(now *protocol.SessionItem) (bool, error) {
		after, err := b.configure(ctx, now, mode)
		if after != nil {
			s = sessionOf(*after)
		}
		return after != nil, err
	})
	return s, err
}

// atRevision changes a session at the revision that it has now, which moves while a person reads. change says
// whether the revision was still that one.
func (b *HostBackend) atRevision(ctx context.Context, id string, change func(*protocol.SessionItem) (bool, error)) error {
	for range 3 {
		now, err := b.o.View.Session(ctx, id)
		if err != nil {
			return hostError(err)
		}
		if now == nil {
			return &hostview.Error{Code: hostview.CodeNotFound, Message: "the session does not exist any more"}
		}
		done, err := change(now)
		if err != nil || done {
			b.relist()
			return hostError(err)
		}
	}
	return &hostview.Error{Code: hostview.CodeOperationConflict, Message: "the session kept changing"}
}

// configure sets the mode and leaves the rest; it returns nil where the session has another revision by now.
func (b *HostBackend) configure(ctx context.Context, s *protocol.SessionItem, mode string) (*protocol.SessionItem, error) {
	c := protocol.SessionConfiguration{
		ModelTarget:       protocol.ModelTarget{Kind: protocol.ModelDefault},
		PermissionMode:    protocol.PermissionMode(mode),
		CollaborationMode: s.CollaborationMode,
		OrchestrationMode: s.OrchestrationMode,
	}
	if s.LLMConnectionSlug != "" && s.Model != "" {
		c.ModelTarget = protocol.ModelTarget{Kind: protocol.ModelExplicit, ConnectionSlug: s.LLMConnectionSlug, Model: s.Model}
	}
	if s.ThinkingLevel != "" {
		c.ThinkingLevel = &s.ThinkingLevel
	}
	r, err := b.o.View.Do(ctx, &protocol.SessionConfigurationUpdateInput{SessionID: s.ID, ExpectedRevision: s.Revision, Configuration: c})
	if err != nil {
		return nil, err
	}
	if u, ok := r.(*protocol.SessionUpdateResult); ok && u.Kind == protocol.KindCommitted {
		return u.Session, nil
	}
	return nil, nil
}

// Start implements hostview.Turns.
func (b *HostBackend) Start(ctx context.Context, session, text string) (hostview.Turn, error) {
	in := protocol.TurnStartInput{SessionID: session, TurnID: hostclient.NewID(), Content: protocol.Content{Text: text}}
	r, err := hostclient.StartTurn(ctx, b.o.View, b.o.Provider, in)
	if err != nil {
		return hostview.Turn{}, hostError(err)
	}
	if r.Turn == nil {
		return hostview.Turn{}, &hostview.Error{Code: hostview.CodeOperationConflict, Message: "the Host did not start the Turn"}
	}
	return turnOf(*r.Turn), nil
}

// Stop implements hostview.Turns.
func (b *HostBackend) Stop(ctx context.Context, t hostview.Turn) (hostview.Turn, error) {
	after, err := b.o.View.StopTurn(ctx, t.SessionID, t.TurnID, t.RunID)
	if err != nil {
		return t, hostError(err)
	}
	return turnOf(*after), nil
}

// Answer implements hostview.Interactions.
func (b *HostBackend) Answer(ctx context.Context, in hostview.Interaction, a hostview.Answer) (hostview.Outcome, error) {
	answer := answerTo(a)
	if answer == nil {
		return hostview.Outcome{}, errors.New("there is no answer to this kind of question")
	}
	r, err := b.o.View.Answer(ctx, in.SessionID, in.ID, answer)
	if err != nil {
		return hostview.Outcome{}, hostError(err)
	}
	o := outcomeOf(r)
	if a.Kind == hostview.KindPermission && o.Status == hostview.StatusUnknown {
		o = hostview.Outcome{Status: hostview.StatusAnswered, Answer: a} // its outcome has no known shape
	}
	if f := &o.Answer.Form; o.Status == hostview.StatusAnswered && a.Kind == hostview.KindForm && f.Action == a.Form.Action && f.Values == nil {
		f.Values = a.Form.Values // the Host keeps no values
	}
	return o, nil
}

// hostError makes the Host's refusals the surface's.
func hostError(err error) error {
	if r, ok := errors.AsType[*hostclient.RequestError](err); ok {
		return &hostview.Error{Code: hostview.Code(r.Code), Message: r.Message}
	}
	switch hostclient.CodeOf(err) {
	case hostclient.CodeAlreadyResolved, hostclient.CodeNotDelivered:
		return &hostview.Error{Code: hostview.Code(hostclient.CodeOf(err)), Message: err.Error()}
	}
	return err
}

func answerTo(a hostview.Answer) protocol.InteractionAnswer {
	decision := protocol.DecisionDeny
	if a.Allow {
		decision = protocol.DecisionAllow
	}
	switch a.Kind {
	case hostview.KindForm:
		return &protocol.FormAnswer{Result: a.Form}
	case hostview.KindQuestion:
		return &protocol.QuestionAnswer{Answers: a.Answers}
	case hostview.KindPermission:
		return &protocol.PermissionAnswer{Decision: decision, RememberForTurn: a.Allow && a.Remember}
	case hostview.KindBoundary:
		return &protocol.SandboxBoundaryAnswer{Decision: decision}
	}
	return nil
}

func outcomeOf(in protocol.Interaction) hostview.Outcome {
	switch o := in.Outcome.(type) {
	case *protocol.FormOutcome:
		return hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindForm, Form: o.Result}}
	case *protocol.QuestionOutcome:
		return hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindQuestion, Answers: o.Answers}}
	case *protocol.SandboxBoundaryOutcome:
		return hostview.Outcome{Status: hostview.StatusAnswered, Answer: hostview.Answer{Kind: hostview.KindBoundary, Allow: o.Decision == protocol.DecisionAllow}}
	case *protocol.Closure:
		return hostview.Outcome{Status: hostview.StatusClosed, Reason: string(o.Reason)}
	}
	return hostview.Outcome{Status: hostview.StatusUnknown}
}

func interactionOf(in protocol.Interaction) hostview.Interaction {
	out := hostview.Interaction{SessionID: in.SessionID, ID: in.InteractionID, TurnID: in.TurnID, RunID: in.RunID}
	switch r := in.Request.(type) {
	case *protocol.FormRequest:
		out.Kind, out.ToolUseID, out.Form = hostview.KindForm, r.ToolUseID, r.Form
	case *protocol.QuestionRequest:
		out.Kind, out.ToolUseID = hostview.KindQuestion, r.ToolUseID
		for _, q := range r.Questions {
			h := hostview.Question{Text: q.Question}
			for _, o := range q.Options {
				h.Options = append(h.Options, hostview.Choice{Label: o.Label, Description: o.Description})
			}
			out.Questions = append(out.Questions, h)
		}
	case *protocol.PermissionRequest:
		out.Kind, out.ToolUseID, out.Prompt = hostview.KindPermission, r.ToolUseID, promptText(string(r.Prompt))
	case *protocol.SandboxBoundaryRequest:
		out.Kind, out.Boundary.Justification = hostview.KindBoundary, r.Justification
		if fs := r.Expansion.Filesystem; fs != nil {
			for _, e := range fs.Entries {
				out.Boundary.Entries = append(out.Boundary.Entries, hostview.PathAccess{Path: e.Path, Access: e.Access, Scope: e.Scope})
			}
		}
		out.Boundary.Network = r.Expansion.Network != nil && r.Expansion.Network.Enabled
	case *protocol.UnknownRequest:
		out.Kind = hostview.Kind(r.WireKind)
	}
	return out
}

func sessionOf(s protocol.SessionItem) hostview.Session {
	return hostview.Session{
		ID: s.ID, Revision: strconv.FormatInt(s.Revision, 10), Name: s.Name, Status: string(s.Status),
		Mode: string(s.PermissionMode), LastUsed: millis(s.LastUsedAt), Archived: s.IsArchived,
	}
}

func turnOf(t protocol.TurnSnapshot) hostview.Turn {
	return hostview.Turn{SessionID: t.SessionID, TurnID: t.TurnID, RunID: t.RunID, Status: string(t.Status), Message: t.FailureMessage}
}

func rowsOf(rows []hostclient.Row) []hostview.Row {
	out := make([]hostview.Row, 0, len(rows))
	for _, r := range rows {
		if row, ok := rowOf(r.Row); ok {
			out = append(out, row)
		}
	}
	return out
}

// rowOf is a row as it is shown; ok is false for those that say nothing to a person.
func rowOf(r protocol.Row) (out hostview.Row, ok bool) {
	out = hostview.Row{Key: r.ID, TurnID: r.TurnID, Time: millis(r.TS), ToolUseID: r.ToolUseID, Status: r.Status}
	if r.Text != nil {
		out.Text = *r.Text
	}
	if r.DurationMs != nil {
		out.Duration = time.Duration(*r.DurationMs) * time.Millisecond
	}
	switch r.Type {
	case protocol.RowUser:
		out.Kind = hostview.RowUser
	case protocol.RowAssistant:
		out.Kind = hostview.RowAssistant
		ok := out.Text != ""
		return out, ok
	case protocol.RowToolCall:
		out.Kind, out.ToolUseID, out.Args = hostview.RowToolCall, r.ID, []byte(r.Args)
		out.Server, out.Tool = toolNames(r.ToolName, r.DisplayName)
	case protocol.RowToolResult:
		out.Kind = hostview.RowToolResult
		out.IsError = r.IsError != nil && *r.IsError
		if c := r.Content; c != nil {
			out.Text = c.Text
			if c.Kind == protocol.RowContentJSON {
				out.Text = resultText(c.Value)
			} else if c.Kind != protocol.RowContentText && c.Text == "" {
				out.Text = "(" + c.Kind + ")"
			}
			out.Uncertain = c.UncertainOutcome != nil
			if out.IsError || out.Uncertain {
				out.Text = failureWords(out.Text)
			}
		}
	case protocol.RowTurnState:
		out.Kind = hostview.RowTurn
		switch r.Status {
		case "failed":
			out.Text = "the Turn failed"
			if why := failureOf(r.Raw); why != "" {
				out.Text += ": " + why
			}
		case "aborted":
			out.Text = "the Turn was stopped"
		}
	case protocol.RowSystemNote:
		if r.Kind == "abort" {
			return out, false // the Turn's own row says it
		}
		out.Kind = hostview.RowNote
		if out.Text == "" {
			out.Text = r.Kind
		}
	default:
		return out, false
	}
	return out, true
}

func toolEvent(session string, e protocol.ToolEvent) (hostview.ToolEvent, bool) {
	out := hostview.ToolEvent{SessionID: session, TurnID: e.TurnID, ToolUseID: e.ToolUseID, Time: millis(e.TS)}
	switch e.Type {
	case "tool_start":
		out.Phase = hostview.PhaseStart
		_, out.Name = toolNames(e.ToolName, e.DisplayName)
	case "tool_progress":
		out.Phase, out.Chunk = hostview.PhaseProgress, e.Chunk
		if done, total, ok := steps(e.Chunk); ok {
			out.Current, out.Total, out.Chunk = done, total, ""
		}
	case "tool_output_delta":
		out.Phase, out.Chunk = hostview.PhaseOutput, e.Chunk
	case "tool_result":
		out.Phase, out.Failed = hostview.PhaseEnd, e.Status == "errored"
		if e.DurationMs != nil {
			out.Duration = time.Duration(*e.DurationMs) * time.Millisecond
		}
	default:
		return out, false
	}
	return out, true
}
