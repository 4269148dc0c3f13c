package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/internal/strictjson"
)

// answerFlags are the prepared answers of a scripted run.
type answerFlags struct {
	set     []string
	file    string
	decline bool
	cancel  bool
	accept  bool
}

func (f *answerFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "answer a field: `name=value` (repeatable; tags=a,b for several)")
	cmd.Flags().StringVar(&f.file, "answers", "", "JSON `file` (- is the standard input) with one answer, or an array with one for each form")
	cmd.Flags().BoolVar(&f.decline, "decline", false, "decline every form")
	cmd.Flags().BoolVar(&f.cancel, "cancel", false, "dismiss every form without deciding")
	cmd.Flags().BoolVar(&f.accept, "accept", false, "accept a form that requires nothing, with its defaults; with --set, take the defaults of required fields, too")
	cmd.MarkFlagsMutuallyExclusive("set", "answers", "decline", "cancel")
	cmd.MarkFlagsMutuallyExclusive("accept", "answers", "decline", "cancel")
}

// prepared are the answers that the command line gives. given is false when it gives none, so that a person is
// asked or the run fails.
type prepared struct {
	flags answerFlags
	list  []forms.Result // of --answers
	multi bool           // the file holds an array
	next  int            // of list
}

func (f *answerFlags) prepare(ctx context.Context, g *globals) (*prepared, error) {
	p := &prepared{flags: *f}
	for _, s := range f.set {
		if !strings.Contains(s, "=") { // before a tool is called
			return nil, usagef(fmt.Errorf("--set %q must be NAME=VALUE", s))
		}
	}
	if f.file == "" {
		return p, nil
	}
	const maxFile = 4 << 20
	data, err := g.readInput(ctx, f.file, maxFile)
	if err != nil {
		return nil, usagef(fmt.Errorf("--answers: %w", err))
	}
	v, err := strictjson.Parse(data, strictjson.Limits{MaxBytes: maxFile})
	if err != nil {
		return nil, usagef(fmt.Errorf("--answers %s: %w", f.file, err))
	}
	raws := []json.RawMessage{data}
	if v.Kind() == strictjson.Array {
		p.multi = true
		if err := json.Unmarshal(data, &raws); err != nil {
			return nil, usagef(fmt.Errorf("--answers %s: %w", f.file, err))
		}
	}
	for i, raw := range raws {
		r, err := forms.DecodeResult(raw, forms.OurLimits())
		if err != nil {
			return nil, usagef(fmt.Errorf("--answers %s: answer %d: %w", f.file, i+1, err))
		}
		p.list = append(p.list, r)
	}
	return p, nil
}

func (p *prepared) given() bool {
	f := p.flags
	return len(f.set) > 0 || f.file != "" || f.decline || f.cancel || f.accept
}

// wrongAnswer says that a prepared answer does not fit the form that was asked.
type wrongAnswer struct {
	form forms.Form
	errs forms.Errors
}

func (e *wrongAnswer) Error() string {
	lines := []string{"the answer does not fit the form"}
	for _, fe := range e.errs {
		lines = append(lines, "  "+forms.Line(fe.Error()))
	}
	return strings.Join(append(lines, describeForm(e.form)...), "\n")
}

// noAnswer says that a form was asked and nobody can answer it.
type noAnswer struct {
	form   forms.Form
	reason string
}

func (e *noAnswer) Error() string {
	return strings.Join(append([]string{e.reason}, describeForm(e.form)...), "\n")
}

// describeForm lists what a form asks, for an error message.
func describeForm(f forms.Form) []string {
	f = f.Project()
	lines := []string{fmt.Sprintf("%s asks: %s", requesterLine(f.Requester), forms.Line(f.Message))}
	for _, fd := range f.Fields {
		need := "optional"
		if fd.Required {
			need = "required"
		}
		line := fmt.Sprintf("  %s (%s, %s)", forms.Line(fd.Name), fd.Kind, need)
		if label := forms.Line(fd.Label); label != forms.Line(fd.Name) {
			line += ": " + label
		}
		if fd.HasOptions() {
			var values []string
			for _, o := range fd.Options[:min(len(fd.Options), 12)] {
				values = append(values, forms.Line(o.Value))
			}
			line += " [" + strings.Join(values, ", ")
			if n := len(fd.Options) - len(values); n > 0 {
				line += fmt.Sprintf(", and %d more", n)
			}
			line += "]"
		}
		lines = append(lines, line)
	}
	return lines
}

func requesterLine(r forms.Requester) string {
	source := r.Source
	if source == "" {
		source = "unknown server"
	}
	return forms.Line(r.Name) + " (" + forms.Line(source) + ")"
}

// answer gives the prepared answer to the next form, a *noAnswer when there is none left, or a *wrongAnswer.
func (p *prepared) answer(f forms.Form) (forms.Result, error) {
	switch fl := p.flags; {
	case fl.decline:
		return forms.Decline(), nil
	case fl.cancel:
		return forms.Cancel(), nil
	case fl.file != "":
		return p.fromFile(f)
	case len(fl.set) > 0:
		return p.fromSet(f)
	case fl.accept:
		return p.acceptAlone(f)
	}
	return forms.Result{}, &noAnswer{f, "input is required and no answer was given (--set, --answers, --accept, --decline, --cancel)"}
}

func (p *prepared) fromFile(f forms.Form) (forms.Result, error) {
	if p.next >= len(p.list) {
		return forms.Result{}, &noAnswer{f, fmt.Sprintf("the answers file holds %d, and another form is asked", len(p.list))}
	}
	r := p.list[p.next]
	if p.next++; !p.multi && p.next > 1 {
		return forms.Result{}, &noAnswer{f, "the answers file holds one answer, and another form is asked"}
	}
	return checked(f, r)
}

// fromSet builds on the form's defaults, as a person's form does. What the form requires is answered by name: its
// default was seen by nobody, and counts with --accept only.
func (p *prepared) fromSet(f forms.Form) (forms.Result, error) {
	defaults := f.Defaults()
	base := defaults.Clone()
	for _, fd := range f.Fields {
		if fd.Required && !p.flags.accept {
			delete(base, fd.Name)
		}
	}
	vals, errs := f.Set(base, p.flags.set)
	r := forms.Accept(vals)
	for _, e := range f.Check(r) {
		if slices.ContainsFunc(errs, func(x forms.FieldError) bool { return x.Field == e.Field }) {
			continue
		}
		if _, ok := defaults[e.Field]; ok && e.Rule == forms.RuleRequired {
			e.Message += "; --accept takes its default"
		}
		errs = append(errs, e)
	}
	if len(errs) > 0 {
		return forms.Result{}, &wrongAnswer{f, errs}
	}
	return r, nil
}

// tellUnused tells a person of answers in the file that no form has asked for.
func (p *prepared) tellUnused(g *globals) {
	if n := len(p.list) - p.next; n > 0 {
		fmt.Fprintf(g.env.stderr, "askback: --answers: %d of %d were not asked for\n", n, len(p.list))
	}
}

// acceptAlone accepts only what demands nothing of a person: nothing is answered by default.
func (p *prepared) acceptAlone(f forms.Form) (forms.Result, error) {
	if slices.ContainsFunc(f.Fields, func(fd forms.Field) bool { return fd.Required }) {
		return forms.Result{}, &noAnswer{f, "--accept alone is for a form that requires nothing; give the values with --set or --answers"}
	}
	return checked(f, forms.Accept(f.Defaults()))
}

func checked(f forms.Form, r forms.Result) (forms.Result, error) {
	if errs := f.Check(r); len(errs) > 0 {
		return forms.Result{}, &wrongAnswer{f, errs}
	}
	return r, nil
}

// formError is the JSON of an error about a form.
func formError(body map[string]any, err error) {
	if e, ok := errors.AsType[*noAnswer](err); ok {
		body["code"], body["form"] = "input_required", e.form
		body["fields"] = missingNames(e.form)
	}
	if e, ok := errors.AsType[*wrongAnswer](err); ok {
		fields := []map[string]string{}
		for _, fe := range e.errs {
			fields = append(fields, map[string]string{"field": fe.Field, "rule": fe.Rule, "message": fe.Message})
		}
		body["code"], body["form"], body["fields"] = "invalid_answer", e.form, fields
	}
}

func missingNames(f forms.Form) []string {
	names := []string{}
	for _, fd := range f.Fields {
		if fd.Required {
			names = append(names, fd.Name)
		}
	}
	return names
}
