package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
	"askback/tui/linemode"
)

func newAnswer(g *globals) *cobra.Command {
	f := &answerFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "answer SESSION/INTERACTION",
		Short: "Answer one pending form on a Host",
		Long: `answer gives one answer to a pending form: from the flags, or from you when this is a terminal. It exits with 0 when
the Host has stored it, 4 when it was answered otherwise before, and 6 when it was closed without an answer.`,
		Example: `  askback answer S/I --host wss://devbox:7443 --token-file token --set environment=staging --set confirm=true
  askback answer I --session deploys --host ws://127.0.0.1:7443 --decline`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.needHost("answer"); err != nil {
				return err
			}
			session, id, err := entryName(g, args[0])
			if err != nil {
				return err
			}
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			p, err := f.prepare(ctx, g)
			if err != nil {
				return err
			}
			return withView(ctx, g, func(v *hostclient.View) error { return runAnswer(ctx, g, v, session, id, p, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON value on stdout and nothing else")
	f.register(cmd)
	return cmd
}

// entryName reads SESSION/INTERACTION. The session is empty where --session names it.
func entryName(g *globals, name string) (session, id string, err error) {
	session, id, ok := strings.Cut(name, "/")
	switch {
	case !ok && g.session == "":
		return "", "", usagef(errors.New("answer takes SESSION/INTERACTION, as 'askback pending' prints it, or an id with --session"))
	case !ok:
		session, id = "", name
	}
	if ok && !protocol.ValidEntityID(session) || !protocol.ValidEntityID(id) {
		return "", "", usagef(fmt.Errorf("%q is not SESSION/INTERACTION, as 'askback pending' prints it", forms.Line(name)))
	}
	return session, id, nil
}

func runAnswer(ctx context.Context, g *globals, v *hostclient.View, session, id string, p *prepared, asJSON bool) error {
	if session == "" {
		var err error
		if session, err = findSession(ctx, v, g.session); err != nil {
			return connectError(err)
		}
	}
	in, err := v.Interaction(ctx, session, id)
	if err != nil {
		return answerError(err, nil)
	}
	if in.Outcome != nil {
		if repeats(p, *in) {
			return storedAnswer(g, *in, asJSON)
		}
		return settledBefore(*in)
	}
	req, ok := in.Request.(*protocol.FormRequest)
	if !ok {
		return usagef(fmt.Errorf("this is a %s and no form; answer it in the terminal: askback attach", in.Request.Kind()))
	}
	r, err := obtain(ctx, g, req.Form, p)
	if err != nil {
		return err
	}
	stored, err := giveAnswer(ctx, v, session, id, r)
	if err != nil {
		return answerError(err, &stored)
	}
	return storedAnswer(g, stored, asJSON)
}

// giveAnswer gives an answer to the Host, once. A Host that goes away meanwhile is waited for as long as a restart takes.
func giveAnswer(ctx context.Context, v *hostclient.View, session, id string, r forms.Result) (protocol.Interaction, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lostTime, &hostclient.Error{Code: hostclient.CodeUnknownOutcome,
		Message: fmt.Sprintf("the answer was sent, and the Host did not confirm it within %v", lostTime)})
	defer cancel()
	return v.AnswerForm(ctx, session, id, r)
}

// repeats says whether the prepared answer is the stored one, as after a run whose end nobody saw. It converges on
// the stored outcome here as it does at the Host.
func repeats(p *prepared, in protocol.Interaction) bool {
	o, answered := in.Outcome.(*protocol.FormOutcome)
	req, form := in.Request.(*protocol.FormRequest)
	if !answered || !form || !p.given() {
		return false
	}
	r, err := p.answer(req.Form)
	return err == nil && forms.Equivalent(r, o.Result)
}

func storedAnswer(g *globals, in protocol.Interaction, asJSON bool) error {
	body := map[string]any{"sessionId": in.SessionID, "interactionId": in.InteractionID}
	outcomeJSON(body, in)
	if asJSON {
		return printJSON(g.env.stdout, body)
	}
	fmt.Fprintf(g.env.stderr, "stored: %s\n", body["action"])
	return nil
}

// obtain gets the answer from the flags, or from the person.
func obtain(ctx context.Context, g *globals, form forms.Form, p *prepared) (forms.Result, error) {
	if !p.given() && g.interactive() {
		lines := linemode.NewLines(g.env.stdin)
		r, err := lines.Ask(ctx, g.env.stderr, linemode.Request{Form: form, Columns: g.columns()})
		if errors.Is(err, linemode.ErrEnded) {
			err = &noAnswer{form, "the input ended before the form was answered; it stays pending"}
		}
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		return r, answerInputError(err)
	}
	r, err := p.answer(form)
	return r, answerInputError(err)
}

func answerInputError(err error) error {
	if err == nil {
		return nil
	}
	body := map[string]any{"message": err.Error()}
	formError(body, err)
	code := exitUsage
	if isNoAnswer(err) {
		code = exitInput
	}
	return &exitError{code: code, err: err, json: map[string]any{"error": body}}
}

func settledBefore(in protocol.Interaction) error {
	body := map[string]any{"code": "already_resolved", "message": settledSentence(in, false)}
	outcomeJSON(body, in)
	code := exitDeclined
	if _, closed := in.Outcome.(*protocol.Closure); closed {
		body["code"], code = "closed", exitStopped
	}
	return &exitError{code: code, err: errors.New(settledSentence(in, false)), json: map[string]any{"error": body}}
}

// answerError classifies what came back instead of a stored answer.
func answerError(err error, record *protocol.Interaction) error {
	if hostclient.CodeOf(err) == hostclient.CodeAlreadyResolved && record != nil && record.Outcome != nil {
		return settledBefore(*record)
	}
	code, name := exitUnreachable, "unreachable"
	switch hostclient.RefusalOf(err) {
	case protocol.CodeOperationConflict:
		code, name = exitUsage, "invalid_answer"
	case protocol.CodeNotFound:
		name = "not_found"
		err = errors.New("the Host knows no such form")
	case protocol.CodeAlreadyResolved:
		code, name = exitDeclined, "already_resolved"
	}
	if hostclient.CodeOf(err) == hostclient.CodeUnknownOutcome {
		code, name = exitUnknown, "outcome_unknown"
	}
	message := forms.Line(err.Error())
	return &exitError{code: code, err: errors.New(message), json: map[string]any{"error": map[string]any{"code": name, "message": message}}}
}
