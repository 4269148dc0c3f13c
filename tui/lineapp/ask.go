package lineapp

import (
	"context"
	"errors"
	"maps"
	"strings"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/hostview"
	"askback/tui/linemode"
)

// asking is the form that is being put.
type asking struct {
	id   string
	end  context.CancelCauseFunc
	sent bool
	ours bool // our answer was stored
}

// errSettled takes a form back that has ended.
type errSettled struct{ why string }

func (e *errSettled) Error() string { return e.why }

// ask puts one form until it is answered, ends, or is left.
func (a *app) ask(ctx context.Context, in hostview.Interaction) error {
	askCtx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a.asking = &asking{id: in.ID, end: end}
	defer func() { a.asking = nil }()
	a.attention()
	type result struct {
		r   forms.Result
		err error
	}
	got := make(chan result, 1)
	// Made here: the loop goes on changing what it is made of.
	req := linemode.Request{Form: hostview.FormOf(in, forms.Line(a.host.Name())), Position: a.position(in.ID), Total: len(a.pending),
		Earlier: maps.Clone(a.answers[in.ToolUseID]), Columns: a.out.width()}
	go func() {
		r, err := a.lines.Ask(askCtx, a.o.Out, req)
		got <- result{r, err}
	}()
	for {
		select {
		case r := <-got:
			return a.asked(ctx, in, r.r, r.err)
		case e := <-a.events:
			a.event(ctx, e)
		case f := <-a.done:
			f()
		case <-a.o.Interrupt:
			a.out.line("")
			a.interrupt(ctx)
			if a.quit {
				end(errTaken)
			}
		}
	}
}

func (a *app) position(id string) int {
	for i, in := range a.pending {
		if in.ID == id {
			return i + 1
		}
	}
	return 0
}

// asked takes the end of a form at the terminal.
func (a *app) asked(ctx context.Context, in hostview.Interaction, r forms.Result, err error) error {
	settled, ended := errors.AsType[*errSettled](err)
	switch {
	case errors.Is(err, linemode.ErrEnded):
		a.out.line("The input has ended. Nothing was sent.")
		return ErrEnded
	case ended:
		a.out.line("")
		a.out.line("This form has ended: %s. Nothing was sent.", settled.why)
		return a.out.err
	case errors.Is(err, errTaken):
		return a.out.err
	case err != nil:
		return err
	}
	answer, ok := hostview.AnswerOf(in, r)
	if !ok {
		a.left[in.ID] = true
		a.out.line("This kind of question cannot be dismissed. It goes on waiting; /form asks it again.")
		return a.out.err
	}
	return a.send(ctx, in, r, answer)
}

// send gives an answer to the Host and waits for its canonical end.
func (a *app) send(ctx context.Context, in hostview.Interaction, r forms.Result, answer hostview.Answer) error {
	a.out.line("Sending.")
	a.asking.sent = true
	type sent struct {
		o   hostview.Outcome
		err error
	}
	got := make(chan sent, 1)
	go func() {
		o, err := a.o.Backend.Answer(ctx, in, answer)
		got <- sent{o, err}
	}()
	for {
		select {
		case s := <-got:
			a.sent(in, r, answer, s.o, s.err)
			return a.out.err
		case e := <-a.events:
			a.event(ctx, e)
		case f := <-a.done:
			f()
		case <-a.o.Interrupt:
			a.interrupt(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *app) sent(in hostview.Interaction, r forms.Result, answer hostview.Answer, o hostview.Outcome, err error) {
	if err == nil && o.Status == hostview.StatusAnswered && hostview.SameAnswer(answer, o.Answer) {
		a.remember(in, r)
		a.drop(in.ID)
		a.out.line("The Host has the answer: %s.", hostview.ActionName(r.Action))
		return
	}
	if err == nil {
		a.drop(in.ID)
		a.out.line("This form has ended otherwise: %s.", ending(in, o))
		return
	}
	a.remember(in, r) // the next try starts from what was typed
	if hostview.CodeOf(err) == hostview.CodeAlreadyResolved {
		a.drop(in.ID)
		a.out.line("The answer came too late: %s.", reason(err))
		return
	}
	a.out.line("! The answer was not stored: %s. The form is asked again.", reason(err))
}

// remember keeps what a call was answered for its next form.
func (a *app) remember(in hostview.Interaction, r forms.Result) {
	if in.Kind != hostview.KindForm || in.ToolUseID == "" || r.Action != forms.ActionAccept {
		return
	}
	if a.answers[in.ToolUseID] == nil {
		a.answers[in.ToolUseID] = draft.Answers{}
	}
	a.answers[in.ToolUseID].Remember(in.Form, r.Values)
}

func (a *app) drop(id string) {
	var rest []hostview.Interaction
	for _, in := range a.pending {
		if in.ID != id {
			rest = append(rest, in)
		}
	}
	a.pending = rest
}

// ending says how an Interaction ended.
func ending(in hostview.Interaction, o hostview.Outcome) string {
	if o.Status == hostview.StatusAnswered {
		return "answered elsewhere (" + hostview.ActionName(hostview.ResultOf(in, o.Answer).Action) + ")"
	}
	return hostview.WhyEnded(o)
}

// attention rings, and throws away what was typed for something else.
func (a *app) attention() {
	if a.o.DropTyped != nil {
		a.o.DropTyped()
		a.out.text("\a")
	}
}

// confirm asks a question that only the word yes answers.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	if a.o.DropTyped != nil {
		a.o.DropTyped()
	}
	s, err := a.readLine(ctx, question+" Write yes to do it: ", func() bool { return false })
	if errors.Is(err, errTaken) {
		return false, nil
	}
	return strings.EqualFold(strings.TrimSpace(s), "yes"), err
}
