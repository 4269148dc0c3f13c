package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"encoding/json"

	"askback/forms"
	"askback/host"
	"askback/hostclient"
	"askback/mcpmgr/config"
	"askback/protocol"
	"askback/tui/draft"
	"askback/tui/linemode"
)

const (
	stopTime = 10 * time.Second // to stop a Turn when the call is given up
	lostTime = 30 * time.Second // for a Host that went away while the call ran: a restart takes less
	rowTime  = 30 * time.Second // for what is told after the Turn's end: the result's row may be 24 MiB on a slow line
)

// caller is one tool call from a script: its own session, one Turn of one /call line, and the forms that it asks.
// It reads the same projection as the terminal and sends the same interaction.answer.
type caller struct {
	g            *globals
	server, tool string
	args         json.RawMessage
	answers      *prepared

	log     *slog.Logger
	view    *hostclient.View
	session string
	turn    protocol.TurnSnapshot
	lines   *linemode.Lines // of a person, where there is one

	queue    []protocol.Interaction // pending and not asked yet
	asking   *asking
	answered chan askedAnswer
	away     bool          // the Host is
	lost     *time.Timer   // runs while it is
	row      *protocol.Row // the tool_result
	earlier  draft.Answers // that a person gave in this call
	forms    int           // answered by us
	refused  bool          // a form was declined or dismissed, here or elsewhere
}

// asking is the form that a person is filling in.
type asking struct {
	id     string
	cancel context.CancelFunc
	over   bool // it has ended without our answer, and that was told
}

type askedAnswer struct {
	in     protocol.Interaction
	result forms.Result
	err    error
}

func (c *caller) run(ctx context.Context) (*callOutput, error) {
	entry, err := c.entry(ctx)
	if err != nil {
		return nil, err
	}
	log, closeLog, err := c.g.logger(nil)
	if err != nil {
		return nil, err
	}
	defer closeLog()
	c.log = log
	t, err := c.g.openTarget("", log)
	if err != nil {
		return nil, err
	}
	defer t.close()
	tools := c.g.startTools([]config.Server{entry}, log)
	defer tools.close()
	c.view = hostclient.NewView(t.view)
	defer c.view.Close()
	if err := c.connect(ctx, t, tools); err != nil {
		return nil, err
	}
	remove, err := c.openSession(ctx, t)
	if err != nil {
		return nil, connectError(err)
	}
	defer remove()
	return c.call(ctx, tools)
}

func (c *caller) entry(ctx context.Context) (config.Server, error) {
	f, err := c.g.loadServers(ctx)
	if err != nil {
		return config.Server{}, err
	}
	return namedServer(f, c.server)
}

// connect waits for the Host, the server, the tool and the Host's copy of it.
func (c *caller) connect(ctx context.Context, t *target, tools *toolSide) error {
	if err := c.view.Ready(ctx); err != nil {
		return connectError(err)
	}
	info := c.view.Connection().Host
	if info.CompositionRevision != host.CompositionRevision {
		return &exitError{code: exitUnreachable, err: fmt.Errorf(
			"this Host runs a model (%s): it would hand the /call line to it instead of running it; call needs an askback Host",
			forms.Line(info.CompositionRevision))}
	}
	if err := tools.ready(ctx, c.server); err != nil {
		return err
	}
	if !tools.has(c.server, c.tool) {
		return notFoundf("the server %s has no tool %q that can be called; see 'askback tools'", c.server, c.tool)
	}
	tools.offer(t) // not before: the Host then gets all tools at once
	return tools.published(ctx, c.server, c.tool)
}

// openSession opens the session that --session names, or one of this call's own, which is removed afterwards.
func (c *caller) openSession(ctx context.Context, t *target) (remove func(), err error) {
	remove = func() {}
	if c.g.session != "" {
		if c.session, err = findSession(ctx, c.view, c.g.session); err != nil {
			return nil, err
		}
	} else {
		item, err := c.view.CreateSession(ctx, protocol.SessionCreateInput{
			Name: "call " + c.server + "/" + c.tool, PermissionMode: protocol.PermissionMode(c.g.permissionMode)})
		if err != nil {
			return nil, err
		}
		c.session = item.ID
		if t.embedded == nil {
			remove = func() { c.removeSession(context.WithoutCancel(ctx)) }
		}
	}
	if err := c.view.Show(ctx, c.session, hostclient.ShowOptions{Rows: true}); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

func (c *caller) removeSession(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	item, err := c.view.Session(ctx, c.session)
	if err == nil && item != nil {
		_, err = c.view.RemoveSession(ctx, item.ID, item.Revision)
	}
	if err != nil {
		c.log.Warn("session not removed", "session", c.session, "error", err.Error())
	}
}

// call runs the Turn to its end. A call that is given up leaves nothing behind: its Turn is stopped first.
func (c *caller) call(ctx context.Context, tools *toolSide) (*callOutput, error) {
	in := protocol.TurnStartInput{SessionID: c.session, TurnID: hostclient.NewID(),
		Content: protocol.Content{Text: fmt.Sprintf("/call %s/%s %s", c.server, c.tool, c.args)}}
	c.turn = protocol.TurnSnapshot{SessionID: c.session, TurnID: in.TurnID}
	started, err := hostclient.StartTurn(ctx, c.view, tools.connection(), in)
	if hostclient.RefusalOf(err) == protocol.CodeSessionBusy {
		return nil, &exitError{code: exitUnreachable, name: "session_busy", err: fmt.Errorf(
			"a Turn runs in the session %s; wait for its end, or leave --session out for one of this call's own", forms.Line(c.g.session))}
	}
	if hostclient.CodeOf(err) == hostclient.CodeRequestLost {
		return nil, &callFailure{code: "outcome_unknown", message: "the connection to the Host ended while the call was being started: what the tool did is not known"}
	}
	if err != nil {
		return nil, connectError(err)
	}
	if started.Turn != nil {
		c.turn = *started.Turn
	}
	c.answered = make(chan askedAnswer, 1)
	events, stop := c.events()
	defer stop()
	err = c.follow(ctx, events)
	if c.asking != nil {
		c.asking.cancel()
	}
	if err != nil {
		c.asking = nil
		return nil, c.giveUp(ctx, events, err)
	}
	c.awaitRow(events)
	// A form that another surface answered may be told after the Turn's end, which depends on that answer.
	c.await(events, func() bool { return c.asking == nil || c.asking.over })
	return c.outcome()
}

// events forwards the view's events until stop.
func (c *caller) events() (<-chan hostclient.Event, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan hostclient.Event)
	go func() {
		defer close(ch)
		for {
			ev, err := c.view.Next(ctx)
			if err != nil {
				return
			}
			select {
			case ch <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ch, func() {
		cancel()
		for range ch {
		}
	}
}

// follow handles events until the Turn is terminal.
func (c *caller) follow(ctx context.Context, events <-chan hostclient.Event) error {
	c.lost = time.NewTimer(lostTime)
	c.lost.Stop()
	defer c.lost.Stop()
	for !c.turn.Status.Terminal() {
		select {
		case ev, ok := <-events:
			if !ok {
				return &callFailure{code: "connection_lost", message: "the connection to the Host has ended"}
			}
			if err := c.handle(ctx, ev); err != nil {
				return err
			}
		case a := <-c.answered:
			c.asking = nil
			if err := c.afterAsking(ctx, a); err != nil {
				return err
			}
		case <-c.lost.C:
			return &callFailure{code: "outcome_unknown", message: fmt.Sprintf(
				"the Host went away while the call ran and did not come back within %v: what the tool did is not known", lostTime)}
		case <-ctx.Done():
			return &callFailure{code: "cancelled", message: context.Cause(ctx).Error()}
		}
		if err := c.askNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *caller) handle(_ context.Context, ev hostclient.Event) error {
	switch ev := ev.(type) {
	case hostclient.SessionOpened:
		c.see(ev.Snapshot)
	case hostclient.SessionChanged:
		c.see(ev.Snapshot)
	case hostclient.TranscriptRows:
		c.seeRows(ev)
	case hostclient.InteractionPending:
		if ev.Interaction.TurnID == c.turn.TurnID && !ev.Again {
			c.queue = append(c.queue, ev.Interaction)
		}
	case hostclient.InteractionSettled:
		c.settled(ev)
	case hostclient.SessionClosed:
		return &callFailure{code: "cancelled", message: "the session was removed while the call ran"}
	case hostclient.Connection:
		return c.connection(ev)
	}
	return nil
}

// connection waits for a Host that is away, for as long as a restart takes.
func (c *caller) connection(ev hostclient.Connection) error {
	switch ev.State {
	case hostclient.StateReady:
		c.lost.Stop()
		c.away = false
	case hostclient.StateWaiting:
		if !c.away {
			c.away = true
			c.lost.Reset(lostTime)
			if c.asking != nil { // its prompt stands there
				fmt.Fprintln(c.g.env.stderr)
			}
			fmt.Fprintf(c.g.env.stderr, "askback: %v; connecting again\n", ev.Cause)
		}
	case hostclient.StateRefused:
		return &callFailure{code: "connection_lost", message: ev.Cause.Error()}
	}
	return nil
}

func (c *caller) see(s protocol.Snapshot) {
	if t := s.RootTurn; t != nil && t.TurnID == c.turn.TurnID {
		c.turn = *t
	}
}

func (c *caller) seeRows(ev hostclient.TranscriptRows) {
	for _, r := range ev.Rows {
		if r.Type == protocol.RowToolResult && r.TurnID == c.turn.TurnID {
			row := r.Row
			c.row = &row
		}
	}
}

// settled takes a form back that another surface answered, or that was closed.
func (c *caller) settled(ev hostclient.InteractionSettled) {
	if !ev.Ours {
		c.answeredElsewhere(ev.Interaction)
	}
	for i, in := range c.queue {
		if in.InteractionID == ev.InteractionID {
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			break
		}
	}
	if c.asking != nil && c.asking.id == ev.InteractionID && !ev.Ours {
		c.asking.cancel()
		c.asking.over = true
		fmt.Fprintf(c.g.env.stderr, "\n%s\n", settledSentence(ev.Interaction, ev.Gone))
	}
}

// answeredElsewhere remembers what counts for the exit code of an answer that is not ours.
func (c *caller) answeredElsewhere(in protocol.Interaction) {
	if o, ok := in.Outcome.(*protocol.FormOutcome); ok && o.Result.Action != forms.ActionAccept {
		c.refused = true
	}
}

// askNext answers the next form, or begins to ask it.
func (c *caller) askNext(ctx context.Context) error {
	for c.asking == nil && len(c.queue) > 0 {
		in := c.queue[0]
		c.queue = c.queue[1:]
		req, ok := in.Request.(*protocol.FormRequest)
		if !ok {
			continue // a Host of ours asks nothing else
		}
		if !c.answers.given() && c.g.interactive() {
			c.ask(ctx, in, req)
			return nil
		}
		r, err := c.answers.answer(req.Form)
		if err != nil {
			return inputFailure(err)
		}
		if err := c.send(ctx, in, r); err != nil {
			return err
		}
	}
	return nil
}

func inputFailure(err error) error {
	f := &callFailure{cause: err}
	if f.code = "input_required"; !isNoAnswer(err) {
		f.code = "invalid_answer"
	}
	return f
}

func isNoAnswer(err error) bool {
	_, ok := errors.AsType[*noAnswer](err)
	return ok
}

// ask puts a form to the person, line by line, while events go on.
func (c *caller) ask(ctx context.Context, in protocol.Interaction, req *protocol.FormRequest) {
	if c.lines == nil {
		c.lines = linemode.NewLines(c.g.env.stdin)
	}
	ctx, cancel := context.WithCancel(ctx)
	c.asking = &asking{id: in.InteractionID, cancel: cancel}
	ask := linemode.Request{Form: req.Form, Earlier: maps.Clone(c.earlier), Columns: c.g.columns()}
	go func() { // ends with the answer or with cancel; follow takes what it sends
		r, err := c.lines.Ask(ctx, c.g.env.stderr, ask)
		cancel()
		c.answered <- askedAnswer{in, r, err}
	}()
}

func (c *caller) afterAsking(ctx context.Context, a askedAnswer) error {
	switch {
	case a.err == nil:
		c.remember(a)
		return c.send(ctx, a.in, a.result)
	case errors.Is(a.err, linemode.ErrEnded):
		req := a.in.Request.(*protocol.FormRequest)
		return inputFailure(&noAnswer{req.Form, "the input ended before the form was answered"})
	case ctx.Err() != nil:
		return &callFailure{code: "cancelled", message: context.Cause(ctx).Error()}
	case errors.Is(a.err, context.Canceled):
		return nil // taken back
	}
	return a.err
}

// remember keeps what a person answered, for the next form of the same call.
func (c *caller) remember(a askedAnswer) {
	if req, ok := a.in.Request.(*protocol.FormRequest); ok && a.result.Action == forms.ActionAccept {
		if c.earlier == nil {
			c.earlier = draft.Answers{}
		}
		c.earlier.Remember(req.Form, a.result.Values)
	}
}

// send gives an answer to the Host, once.
func (c *caller) send(ctx context.Context, in protocol.Interaction, r forms.Result) error {
	stored, err := giveAnswer(ctx, c.view, in.SessionID, in.InteractionID, r)
	switch {
	case err == nil:
		c.forms++
		c.refused = c.refused || r.Action != forms.ActionAccept
		return nil
	case hostclient.CodeOf(err) == hostclient.CodeAlreadyResolved:
		c.answeredElsewhere(stored)
		fmt.Fprintln(c.g.env.stderr, "askback: the form was settled elsewhere in the meantime")
		return nil
	case ctx.Err() != nil:
		return &callFailure{code: "cancelled", message: context.Cause(ctx).Error()}
	case hostclient.CodeOf(err) == hostclient.CodeUnknownOutcome:
		return &callFailure{code: "outcome_unknown", message: forms.Line(err.Error())}
	}
	if hostclient.RefusalOf(err) == protocol.CodeOperationConflict {
		return &callFailure{code: "invalid_answer", message: forms.Line(err.Error())}
	}
	return &callFailure{code: "connection_lost", message: forms.Line(err.Error())}
}

// giveUp stops the Turn and says whether the tool may have had an effect.
func (c *caller) giveUp(ctx context.Context, events <-chan hostclient.Event, cause error) error {
	f, ok := errors.AsType[*callFailure](cause)
	if !ok {
		f = &callFailure{code: "cancelled", message: cause.Error()}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	stopped, err := c.view.StopTurn(ctx, c.session, c.turn.TurnID, c.turn.RunID)
	if err != nil {
		c.log.Warn("turn not stopped", "error", err.Error())
		switch f.code {
		case "cancelled":
			f.uncertain = true
		case "connection_lost": // with a leg on the wire, for all that is known here
			f.code, f.message = "outcome_unknown", f.message+"; what the tool did is not known"
		}
		return f
	}
	c.turn = *stopped
	if f.code == "cancelled" {
		c.awaitRow(events)
		f.uncertain = c.row != nil && c.row.Content != nil && c.row.Content.UncertainOutcome != nil
	}
	return f
}

// awaitRow waits for the result's row, which may come after the Turn's end.
func (c *caller) awaitRow(events <-chan hostclient.Event) {
	c.await(events, func() bool { return c.row != nil || c.turn.Status == protocol.TurnFailed })
}

// await takes what comes after the Turn's end, until done.
func (c *caller) await(events <-chan hostclient.Event, done func() bool) {
	late := time.After(rowTime)
	for !done() {
		select {
		case ev, ok := <-events:
			if !ok {
				return
			}
			switch ev := ev.(type) {
			case hostclient.TranscriptRows:
				c.seeRows(ev)
			case hostclient.InteractionSettled:
				c.settled(ev)
			}
		case <-late:
			return
		}
	}
}
