package lineapp

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/hostview"
)

// hello is the first thing that is printed.
func (a *app) hello() {
	a.out.line("askback %s in lines. /help lists the commands.", a.o.Version)
	if a.o.Why != "" {
		a.out.line("There is no screen: %s.", a.o.Why)
	}
}

// event takes one event of the Host and prints what a person should know of it.
func (a *app) event(ctx context.Context, e hostview.Event) {
	switch e := e.(type) {
	case hostview.Connection:
		a.connection(e)
	case hostview.Catalog:
		a.catalog(ctx, e)
	case hostview.Projection:
		if e.SessionID == a.open {
			a.projection(ctx, e)
		}
	case hostview.Settled:
		a.settled(e)
	case hostview.Rows:
		if e.SessionID == a.open {
			a.rows(ctx, e)
		}
	case hostview.ToolEvent:
		if e.SessionID == a.open {
			a.tool(e)
		}
	case hostview.Removed:
		if e.SessionID == a.open {
			if e.Why != "" {
				a.out.line("! This session cannot be shown: %s", forms.Line(e.Why))
			} else {
				a.out.line("! This session was removed. /sessions lists the others.")
			}
			a.forgetSession("")
		}
	}
}

func (a *app) connection(e hostview.Connection) {
	if e.Host.RootID != "" || a.host.RootID == "" {
		a.host = e.Host
	}
	if e.Link != hostview.LinkView {
		return
	}
	if e.State != a.state {
		why := ""
		if e.Detail != "" {
			why = ": " + forms.Line(e.Detail)
		}
		a.out.line("Host %s: %s%s", forms.Line(a.host.Address), e.State, why)
	}
	a.state = e.State
	a.reached = a.reached || e.State == hostview.StateReady
	// Nobody at a terminal could leave a program that waits for a Host that was never there.
	hopeless := e.State == hostview.StateReconnecting && !a.reached && a.o.Ready == nil
	if e.State == hostview.StateRefused || hopeless {
		a.refused = &Refused{cmp.Or(forms.Line(e.Detail), "it refuses the connection")}
		if a.asking != nil && !a.asking.sent {
			a.asking.end(errTaken)
		}
	}
}

func (a *app) catalog(ctx context.Context, e hostview.Catalog) {
	a.sessions = slices.DeleteFunc(slices.Clone(e.Sessions), func(s hostview.Session) bool { return s.Archived })
	if a.listed {
		return
	}
	a.listed = true
	switch {
	case a.o.Session != "":
		a.openNamed(ctx, a.o.Session)
	case len(a.sessions) > 0:
		last := slices.MaxFunc(a.sessions, func(x, y hostview.Session) int { return x.LastUsed.Compare(y.LastUsed) })
		a.openSession(ctx, last)
	case a.o.NewSession != "":
		a.create(ctx, a.o.NewSession)
	default:
		a.out.line("No session exists here. /new NAME creates one.")
	}
}

func (a *app) projection(ctx context.Context, e hostview.Projection) {
	before := a.turn
	a.turn = e.Turn
	if e.Turn != nil {
		busy := a.ours.Busy()
		a.ours.Saw(*e.Turn)
		if busy && !a.ours.Busy() && len(a.running) > 0 {
			a.awaitResults(ctx, e.Turn.TurnID)
		}
		if e.Turn.Terminal() {
			a.stopping = false
			clear(a.answers)
			if before != nil && before.TurnID == e.Turn.TurnID && !before.Terminal() {
				a.out.line("The Turn is over: %s.", turnText(*e.Turn))
				a.over = e.Turn.TurnID
			}
		}
	}
	for _, in := range e.Pending {
		if !slices.ContainsFunc(a.pending, func(p hostview.Interaction) bool { return p.ID == in.ID }) && len(a.pending) > 0 {
			a.out.line("Another form waits: %s.", who(in))
		}
	}
	// What is being asked stays until its end is told.
	if a.asking != nil && !slices.ContainsFunc(e.Pending, func(p hostview.Interaction) bool { return p.ID == a.asking.id }) {
		return
	}
	a.pending = e.Pending
}

// resultTime bounds the wait for the results of a Turn that has ended.
const resultTime = 10 * time.Second

// awaitResults keeps the prompt back until the results of our Turn's calls are printed: a large one is read in pieces,
// and input from a pipe would end the program before.
func (a *app) awaitResults(ctx context.Context, turn string) {
	if a.awaited == turn {
		return
	}
	a.awaited = turn
	a.waitFor++
	printed := sync.OnceFunc(func() { a.waitFor-- })
	a.printed = printed
	go func() {
		select {
		case <-time.After(resultTime):
		case <-ctx.Done():
			return
		}
		select {
		case a.done <- printed:
		case <-ctx.Done():
		}
	}()
}

func turnText(t hostview.Turn) string {
	if t.Message != "" {
		return forms.Line(t.Status + ", " + t.Message)
	}
	return forms.Line(t.Status)
}

// who is who asks, in short.
func who(in hostview.Interaction) string {
	if in.Kind == hostview.KindForm {
		return forms.Line(in.Form.Requester.Name)
	}
	return hostview.KindName(in.Kind)
}

func (a *app) settled(e hostview.Settled) {
	for _, in := range a.pending {
		if in.ID != e.InteractionID {
			continue
		}
		if a.asking != nil && a.asking.id == in.ID {
			if !a.asking.sent { // else the answer's own end says it
				a.asking.end(&errSettled{ending(in, e.Outcome)})
				a.drop(in.ID)
			}
			return
		}
		a.out.line("The form of %s has ended: %s.", who(in), ending(in, e.Outcome))
		a.drop(in.ID)
		return
	}
}

// recent is how many rows are printed of a session that is opened.
const recent = 6

func (a *app) rows(ctx context.Context, e hostview.Rows) {
	rows, opened := e.Rows, e.Reset && len(a.seen) == 0
	if opened && !e.Start && !slices.ContainsFunc(rows, says) { // the last row is too large for what comes by itself
		a.request(ctx, func() func() {
			err := a.o.Backend.Older(ctx, e.SessionID)
			return func() {
				if err != nil && a.open == e.SessionID {
					a.out.line("! The last rows cannot be read: %s", reason(err))
				}
			}
		})
	}
	if (opened || e.Older) && len(rows) > recent {
		for _, r := range rows[:len(rows)-recent] {
			a.seen[string(r.Kind)+r.Key] = true
			a.names[r.ToolUseID] = forms.Line(r.Tool)
		}
		rows = rows[len(rows)-recent:]
		a.out.line("(earlier rows are not printed)")
	}
	for _, r := range rows {
		key := string(r.Kind) + r.Key
		if !a.seen[key] {
			a.seen[key] = true
			a.row(r)
		}
	}
}

// says is for a row of which something is printed.
func says(r hostview.Row) bool {
	return r.Text != "" || r.Kind == hostview.RowToolCall || r.Kind == hostview.RowToolResult
}

func (a *app) row(r hostview.Row) {
	switch r.Kind {
	case hostview.RowUser:
		a.out.line("You said:")
		a.out.quote(r.Text)
	case hostview.RowAssistant:
		a.out.line("The agent said:")
		a.out.quote(r.Text)
	case hostview.RowToolCall:
		name := forms.Line(r.Tool)
		if r.Server != "" {
			name = forms.Line(r.Server) + "/" + name
		}
		a.names[r.ToolUseID] = name
		a.running[r.ToolUseID] = true
		a.out.line("Tool %s runs with %s", name, forms.Line(string(r.Args)))
	case hostview.RowToolResult:
		delete(a.answers, r.ToolUseID)
		state := "done"
		switch {
		case r.Uncertain:
			state = "outcome unknown"
		case r.IsError:
			state = "failed"
		}
		a.out.line("Tool %s: %s", a.names[r.ToolUseID], state)
		if r.Text != "" {
			a.out.quote(r.Text)
		}
		if delete(a.running, r.ToolUseID); len(a.running) == 0 {
			a.printed()
		}
	case hostview.RowTurn:
		if r.Text != "" && (r.TurnID == "" || r.TurnID != a.over) { // else it was said
			a.out.line("%s", forms.Line(r.Text))
		}
	case hostview.RowNote:
		a.out.quote(r.Text)
	}
}

// tool prints a call's progress, in quarters.
func (a *app) tool(e hostview.ToolEvent) {
	if e.Phase != hostview.PhaseProgress || e.Total <= 0 {
		return
	}
	quarter := 4 * e.Current / e.Total
	if quarter > a.steps[e.ToolUseID] {
		a.steps[e.ToolUseID] = quarter
		a.out.line("Tool %s: step %d of %d", a.names[e.ToolUseID], e.Current, e.Total)
	}
}

// forgetSession clears what belongs to the open session.
func (a *app) forgetSession(next string) {
	clear(a.running)
	a.printed()
	a.open, a.turn, a.pending, a.stopping = next, nil, nil, false
	a.seen, a.left, a.answers = map[string]bool{}, map[string]bool{}, map[string]draft.Answers{}
}
