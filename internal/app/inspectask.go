package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"askback/forms"
	"askback/internal/inspect"
	"askback/tui/linemode"
)

// next answers what waits, or begins to ask a person; one at a time.
func (c *inspectOnce) next(ctx context.Context) {
	if c.asking != nil || len(c.queue) == 0 {
		return
	}
	a := c.queue[0]
	c.queue = c.queue[1:]
	c.asking = a
	if c.prepared(a) || !c.g.interactive() {
		r, err := c.give(a)
		c.given <- askedReply{a, r, err}
		return
	}
	ctx, c.stop = context.WithCancel(ctx)
	if c.lines == nil {
		c.lines = linemode.NewLines(c.g.env.stdin)
	}
	go func() { // ends with the answer or with stop; call takes what it sends
		r, err := c.person(ctx, a)
		c.given <- askedReply{a, r, err}
	}()
}

// prepared says whether the command line gives answers for what is asked.
func (c *inspectOnce) prepared(a *inspect.Ask) bool {
	if a.Kind == inspect.AskSampling {
		return len(c.f.sample) > 0 || c.f.answers.decline || c.f.answers.cancel
	}
	return c.answers.given()
}

// unanswered says that something other than a form was asked and nobody can answer it.
type unanswered struct {
	what string
	json map[string]any
}

func (e *unanswered) Error() string { return e.what }

// give is the prepared answer.
func (c *inspectOnce) give(a *inspect.Ask) (inspect.Reply, error) {
	fl := c.f.answers
	switch a.Kind {
	case inspect.AskForm:
		r, err := c.answers.answer(a.Form.Form)
		return inspect.Reply{Result: r}, err
	case inspect.AskURL:
		return c.giveURL(a)
	}
	if len(c.samples) > 0 {
		m := c.samples[0]
		c.samples = c.samples[1:]
		return inspect.Reply{Message: m}, nil
	}
	if fl.decline || fl.cancel {
		return inspect.Reply{Reject: true}, nil
	}
	return inspect.Reply{}, &unanswered{"the server asks for a model's answer (sampling) and none was given (--sample, or --decline to reject)",
		map[string]any{"sampling": json.RawMessage(a.Sampling.Params)}}
}

// giveURL agrees to visit an address only by an entry of --answers: nothing else says that somebody has seen it.
func (c *inspectOnce) giveURL(a *inspect.Ask) (inspect.Reply, error) {
	fl, at := c.f.answers, inspect.ReadAddress(a.URL.URL)
	no := &unanswered{fmt.Sprintf("the server asks a person to visit %s, and no answer was given (an entry of --answers, --decline, --cancel)", forms.Line(at.Text)),
		map[string]any{"url": at.Text, "host": at.Host}}
	switch {
	case fl.decline:
		return inspect.Reply{Result: forms.Decline()}, nil
	case fl.cancel:
		return inspect.Reply{Result: forms.Cancel()}, nil
	case fl.file == "" || c.answers.next >= len(c.answers.list):
		return inspect.Reply{}, no
	}
	r := c.answers.list[c.answers.next]
	c.answers.next++
	if r.Action == forms.ActionAccept && at.Refused != "" {
		no.what = fmt.Sprintf("the server asks a person to visit %s, which cannot be accepted: %s", forms.Line(at.Text), at.Refused)
		return inspect.Reply{}, no
	}
	return inspect.Reply{Result: forms.Result{Action: r.Action}}, nil
}

// person asks whoever sits at the terminal.
func (c *inspectOnce) person(ctx context.Context, a *inspect.Ask) (inspect.Reply, error) {
	w := c.g.env.stderr
	if n := a.Note(); n != "" {
		fmt.Fprintf(w, "\ninput_required, round %d of at most %d: %s\n", a.Origin.Round, inspect.Rounds, n)
	}
	switch a.Kind {
	case inspect.AskForm:
		r, err := c.lines.Ask(ctx, w, linemode.Request{Form: a.Form.Form, Position: a.Origin.Index, Total: a.Origin.Total, Columns: c.g.columns()})
		return inspect.Reply{Result: r}, err
	case inspect.AskURL:
		return c.personURL(ctx, a)
	}
	return c.personSampling(ctx, a)
}

// quote prints a text of the server behind our bar.
func (c *inspectOnce) quote(text string) {
	for row := range linemode.Quoted("", text, c.g.columns()) {
		fmt.Fprintln(c.g.env.stderr, row)
	}
}

func (c *inspectOnce) personURL(ctx context.Context, a *inspect.Ask) (inspect.Reply, error) {
	w, at := c.g.env.stderr, inspect.ReadAddress(a.URL.URL)
	c.quote(forms.Block(a.URL.Message))
	fmt.Fprintln(w, "The server asks you to visit this address. Nothing was opened.")
	if at.Refused != "" {
		c.quote(forms.Line(at.Text)) // nothing to copy, and it can be any text
	} else {
		fmt.Fprintf(w, "  %s\n  host: %s\n", forms.Line(at.Text), forms.Line(at.Host))
	}
	for _, s := range at.Warnings {
		fmt.Fprintf(w, "! %s\n", forms.Line(s))
	}
	choices := "done (you have visited it), decline, or cancel"
	if at.Refused != "" {
		fmt.Fprintf(w, "! %s\n", at.Refused)
		choices = "decline or cancel"
	}
	for {
		fmt.Fprintf(w, "Type %s: ", choices)
		line, err := c.lines.Read(ctx)
		if err != nil {
			return inspect.Reply{}, err
		}
		switch s := strings.TrimSpace(line); {
		case s == "done" && at.Refused == "":
			return inspect.Reply{Result: forms.Result{Action: forms.ActionAccept}}, nil
		case s == "decline":
			return inspect.Reply{Result: forms.Decline()}, nil
		case s == "cancel":
			return inspect.Reply{Result: forms.Cancel()}, nil
		}
	}
}

func (c *inspectOnce) personSampling(ctx context.Context, a *inspect.Ask) (inspect.Reply, error) {
	w := c.g.env.stderr
	fmt.Fprintln(w, "The server asks for a model's answer:")
	c.quote(strings.Join(inspect.ReadSampling(a.Sampling.Params).Lines(), "\n"))
	for {
		fmt.Fprint(w, "Type the answer (a text, or a result as JSON), or reject: ")
		line, err := c.lines.Read(ctx)
		if err != nil {
			return inspect.Reply{}, err
		}
		if strings.TrimSpace(line) == "reject" {
			return inspect.Reply{Reject: true}, nil
		}
		m, err := inspect.SamplingAnswer(line)
		if err == nil {
			return inspect.Reply{Message: m}, nil
		}
		fmt.Fprintf(w, "! %v\n", err)
	}
}

// reply sends an answer, or says why there is none.
func (c *inspectOnce) reply(a askedReply) error {
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
	switch {
	case a.err == nil:
		c.refused = c.refused || a.reply.Reject || a.reply.Result.Action == forms.ActionDecline || a.reply.Result.Action == forms.ActionCancel
		if c.ins.Answer(a.ask.ID, a.reply) && a.ask.Kind == inspect.AskForm {
			c.forms++
		}
		return nil
	case errors.Is(a.err, linemode.ErrEnded):
		if a.ask.Kind == inspect.AskForm {
			return inputFailure(&noAnswer{a.ask.Form.Form, "the input ended before the form was answered"})
		}
		return &callFailure{code: "input_required", message: "the input ended before the server's question was answered"}
	case errors.Is(a.err, context.Canceled):
		return nil // taken back
	}
	if e, ok := errors.AsType[*unanswered](a.err); ok {
		return &callFailure{code: "input_required", cause: e}
	}
	return inputFailure(a.err)
}

// withdraw takes back a question whose call has ended.
func (c *inspectOnce) withdraw(id uint64) {
	for i, a := range c.queue {
		if a.ID == id {
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			return
		}
	}
	if c.asking != nil && c.asking.ID == id && c.stop != nil {
		c.stop()
	}
}

// stopAsking waits for a question that is still open.
func (c *inspectOnce) stopAsking() {
	if c.asking == nil {
		return
	}
	if c.stop != nil {
		c.stop()
	}
	<-c.given
	c.asking = nil
}
