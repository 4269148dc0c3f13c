// Package linemode puts a form to a person line by line: for terminals that draw no screen, for screen readers, and for
// whoever asks for it. It shows who asks and the warning before each form, asks the same fields with the same checks,
// reviews the answer, and wants the word "submit" before anything leaves. It writes no escape byte.
//
// What came from a server stands only in lines that begin with "| ". The end of the input answers nothing.
package linemode

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

// Request is one form to ask.
type Request struct {
	Form            forms.Form    // as the Host stores it
	Position, Total int           // place in the queue, from 1; not told for a Total under 2
	Earlier         draft.Answers // what the same tool call was given before
	Columns         int           // of the terminal, which breaks longer lines itself; 0: it is none, and breaks nothing
}

// Ask asks a form once. It returns the person's answer, which fits the form, or an error and no answer: ErrEnded, the
// cause of ctx, or what out returned. A reader that is to be used again after ctx ended must be a Lines; see Lines.Ask.
func Ask(ctx context.Context, in *bufio.Reader, out io.Writer, req Request) (forms.Result, error) {
	l := NewLines(in)
	defer l.Close()
	return l.Ask(ctx, out, req)
}

// Ask is the package's Ask on lines that outlive the form.
func (l *Lines) Ask(ctx context.Context, out io.Writer, req Request) (forms.Result, error) {
	a := &asker{ctx: ctx, in: l, out: out, req: req, draft: draft.New(req.Form, req.Earlier)}
	return a.run()
}

// asker holds one form while it is asked.
type asker struct {
	ctx   context.Context
	in    *Lines
	out   io.Writer
	err   error // the first of out
	req   Request
	draft *draft.Draft
}

func (a *asker) say(format string, args ...any) {
	if _, err := fmt.Fprintf(a.out, format+"\n", args...); err != nil && a.err == nil {
		a.err = err
	}
}

// quote writes text that came from elsewhere, each row behind the bar.
func (a *asker) quote(indent, text string) {
	for row := range Quoted(indent, text, a.req.Columns) {
		a.say("%s", row)
	}
}

// Quoted gives text that came from elsewhere, each line behind our bar. Where a terminal of so many columns would break
// a line, it is broken before: what stands in a row of its own must not look like a row of ours.
func Quoted(indent, text string, columns int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(text, "\n") {
			rows := []string{line}
			if columns > 0 {
				rows = kit.Wrap(line, max(1, columns-len("| ")-len(indent)-1))
			}
			for _, row := range rows {
				if !yield("| " + indent + row) {
					return
				}
			}
		}
	}
}

// prompt asks for a line until one comes that was meant for it.
func (a *asker) prompt(text string) (string, error) {
	for {
		if _, err := io.WriteString(a.out, text); err != nil && a.err == nil {
			a.err = err
		}
		if a.err != nil {
			return "", a.err
		}
		s, err := a.in.Read(a.ctx)
		switch {
		case errors.Is(err, errStale):
			a.say("! That line was begun before this was asked, so it was dropped. Write it again.")
		case errors.Is(err, errLong):
			a.say("! %s: at most %d bytes.", err, maxLine)
		case err != nil:
			a.say("")
			return "", err
		default:
			return s, nil
		}
	}
}

// decided ends the questions: the person declined, dismissed or submitted.
type decided struct{ result forms.Result }

func (a *asker) run() (forms.Result, error) {
	a.heading()
	for i := 0; ; {
		var done *decided
		var err error
		if i < len(a.draft.Fields) {
			i, done, err = a.field(i)
		} else {
			i, done, err = a.review()
		}
		switch {
		case err != nil:
			return forms.Result{}, err
		case done != nil:
			return done.result, a.err
		}
	}
}

// heading says who asks, warns, and shows the message in full.
func (a *asker) heading() {
	req := a.draft.Shown.Requester
	source := req.Source
	if source == "" {
		source = "unknown server"
	}
	if a.req.Total > 1 {
		a.say("Form %d of %d, from:", a.req.Position, a.req.Total)
	} else {
		a.say("A form, from:")
	}
	a.quote("", req.Name+", "+source)
	a.say("! Never enter passwords, API keys, access tokens or payment data here.")
	for _, f := range a.draft.Secrets() {
		a.say("!! This field looks like a secret:")
		a.quote("", f.Shown.Label)
	}
	if forms.HasLink(a.req.Form) {
		a.say("! The text holds a link.")
	}
	a.quote("", a.draft.Shown.Message)
	if a.draft.FromEarlier() {
		a.say("It starts from your last answers in this call.")
	}
	if len(a.draft.Fields) > 0 {
		a.say(commands)
	}
}

const commands = "Commands: .skip leaves out, .empty sends empty, .default resets,\n.back, .decline, .dismiss. " +
	"An empty line keeps what is there.\nA text that starts with a dot: write two."

// field asks field i once and returns the field to ask next.
func (a *asker) field(i int) (int, *decided, error) {
	f := a.draft.Fields[i]
	a.say("")
	a.say("Field %d of %d (%s):", i+1, len(a.draft.Fields), need(f))
	a.quote("", f.Shown.Label)
	if f.Shown.Description != "" {
		a.quote("", f.Shown.Description)
	}
	a.options(f)
	a.current(f)
	s, err := a.prompt("> ")
	if err != nil {
		return i, nil, err
	}
	if strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "..") {
		return a.command(i, word(s))
	}
	if f.Spec.Kind != forms.KindString {
		s = strings.TrimSpace(s) // no part of a number or of a choice
	}
	if s != "" {
		if msg := set(f, strings.TrimPrefix(s, ".")); msg != "" {
			return a.again(i, msg)
		}
	}
	return a.next(i)
}

// word is a command as it was meant: dictation and phones write capitals and blanks of their own.
func word(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// next goes on unless the field is wrong.
func (a *asker) next(i int) (int, *decided, error) {
	if msg := a.draft.Fields[i].Wrong(); msg != "" {
		return a.again(i, msg)
	}
	return i + 1, nil, nil
}

// again says what is wrong, with the ways on, and asks the field again.
func (a *asker) again(i int, wrong string) (int, *decided, error) {
	a.say("! %s (%s)", forms.Line(wrong), waysOn(a.draft.Fields[i]))
	return i, nil, nil
}

// waysOn are the commands that help with a field that is wrong.
func waysOn(f *draft.Field) string {
	var ways []string
	if !f.Spec.Required {
		ways = append(ways, ".skip leaves it out")
	}
	switch f.ResetsTo() {
	case draft.Default:
		ways = append(ways, ".default goes back to the default")
	case draft.Earlier:
		ways = append(ways, ".default goes back to your last answer")
	}
	if len(ways) == 0 {
		return ".decline or .dismiss ends the form"
	}
	return strings.Join(ways, ", ")
}

func need(f *draft.Field) string {
	if h := f.Hint(); h != "" {
		return f.Need() + ", " + h
	}
	return f.Need()
}

func (a *asker) options(f *draft.Field) {
	if f.IsText() {
		return
	}
	for i, label := range f.Labels() {
		a.quote("  ", fmt.Sprintf("%d. %s", i+1, label))
		if i < len(f.Shown.Options) && f.Shown.Options[i].Description != "" {
			a.quote("      ", f.Shown.Options[i].Description)
		}
	}
	switch f.Spec.Kind {
	case forms.KindMultiSelect:
		a.say("Write the numbers with spaces between them.")
	case forms.KindBoolean:
		a.say("Write a number, or yes or no.")
	default:
		a.say("Write a number, or the whole name.")
	}
}

// current says what stands in the field now.
func (a *asker) current(f *draft.Field) {
	text := f.Summary()
	if m := f.Mark(); m != "" {
		text += " (" + m + ")"
	}
	a.say("Now:")
	a.quote("", text)
}

func (a *asker) command(i int, s string) (int, *decided, error) {
	f := a.draft.Fields[i]
	switch s {
	case ".skip":
		f.Clear()
		return a.next(i)
	case ".empty":
		if !f.SendEmpty() {
			a.say("! this field cannot be sent empty")
			return i, nil, nil
		}
		return a.next(i)
	case ".default":
		f.Reset()
		return i, nil, nil
	case ".back":
		return max(0, i-1), nil, nil
	case ".decline":
		return a.confirm(i, forms.Decline())
	case ".dismiss":
		return a.confirm(i, forms.Cancel())
	}
	a.say("! unknown command")
	a.say(commands)
	return i, nil, nil
}

// confirm asks once before a decline or a dismissal.
func (a *asker) confirm(i int, r forms.Result) (int, *decided, error) {
	question := "Dismiss this form without an answer? Write yes or no > "
	if r.Action == forms.ActionDecline {
		question = "Decline, and tell the server no? Write yes or no > "
	}
	for {
		s, err := a.prompt(question)
		if err != nil {
			return i, nil, err
		}
		switch word(s) {
		case "yes", "y":
			return i, &decided{r}, nil
		case "no", "n":
			a.say("Nothing is sent.")
			return i, nil, nil
		}
		a.say("! write yes or no") // taken as a no, what is written next would answer a field
	}
}

// review shows every value and what is wrong, and sends nothing but on the word.
func (a *asker) review() (int, *decided, error) {
	r, wrong := a.draft.Result()
	a.say("")
	a.say("Review. Nothing is sent yet.")
	if len(a.draft.Fields) == 0 {
		a.say("No values are asked for. To submit is to say yes.")
	}
	for i, f := range a.draft.Fields {
		text := f.Shown.Label + ": " + f.Summary()
		if m := f.Mark(); m != "" {
			text += " (" + m + ")"
		}
		a.quote("", strings.ReplaceAll(text, "\n", "\n    ")) // a later line of a value looks like no other field
		a.problems(wrong, i)
	}
	a.problems(wrong, -1)
	last := len(a.draft.Fields)
	s, err := a.prompt("Write submit, back, decline or dismiss > ")
	if err != nil {
		return last, nil, err
	}
	switch strings.TrimPrefix(word(s), ".") {
	case "submit":
		if len(wrong) > 0 {
			a.say("! not yet: something is wrong")
			return max(0, wrong[0].Index), nil, nil
		}
		return last, &decided{r}, nil
	case "back":
		return 0, nil, nil
	case "decline":
		return a.confirm(last, forms.Decline())
	case "dismiss":
		return a.confirm(last, forms.Cancel())
	}
	a.say("! write one of the four words")
	return last, nil, nil
}

func (a *asker) problems(wrong []draft.Wrong, index int) {
	for _, w := range wrong {
		if w.Index == index {
			a.say("! %s", forms.Line(w.Message))
		}
	}
}
