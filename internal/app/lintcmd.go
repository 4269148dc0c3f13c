package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"askback/forms"
	"askback/internal/lint"
	"askback/tui/formview"
	"askback/tui/theme"
)

// maxLintInput bounds what lint reads: a result of several forms, with room to be refused by its own limits.
const maxLintInput = 4 << 20

type lintFlags struct {
	json           bool
	answer, render string
}

func newLint(g *globals) *cobra.Command {
	f := &lintFlags{}
	cmd := &cobra.Command{
		Use:   "lint [FILE|-]",
		Short: "Say how a form will be read, or why it is refused",
		Long: `lint reads the params of an elicitation/create, a whole input_required result, or a bare schema, and says how it
will be read: fields, labels, limits, what is ignored, what the specification discourages. A refused form is told
with the property and the keyword, and exits with 1. docs/forms.md has the rules.`,
		Example: `  askback lint form.json
  askback lint result.json --json
  echo '{"type":"object","properties":{"a":{"type":"string"}}}' | askback lint - --answer '{"action":"accept","values":{"a":"x"}}'
  askback lint form.json --render 40x12`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runLint(ctx, g, f, args)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON value")
	cmd.Flags().StringVar(&f.answer, "answer", "", "check an answer, as `JSON`, against the form; prints JSON")
	cmd.Flags().StringVar(&f.render, "render", "", "print the first frame at a `size`, for example 80x24")
	cmd.MarkFlagsMutuallyExclusive("answer", "render")
	cmd.MarkFlagsMutuallyExclusive("json", "render") // a frame is no JSON value
	return cmd
}

func runLint(ctx context.Context, g *globals, f *lintFlags, args []string) error {
	data, err := lintInput(ctx, g, args)
	if err != nil {
		return usagef(err)
	}
	if !utf8.Valid(data) {
		return usagef(errors.New("the input is not JSON: it is not UTF-8"))
	}
	report, err := lint.Read(data)
	if err != nil {
		return usagef(err)
	}
	switch {
	case !report.OK():
		return printLint(g, f, report)
	case f.answer != "":
		return lintAnswer(g, f, report)
	case f.render != "":
		return lintRender(g, f, report)
	}
	return printLint(g, f, report)
}

func lintInput(ctx context.Context, g *globals, args []string) ([]byte, error) {
	if len(args) == 1 {
		return g.readInput(ctx, args[0], maxLintInput)
	}
	if isTerminal(g.env.stdin) {
		return nil, errors.New("lint reads a file, or - for the standard input")
	}
	return g.readInput(ctx, "-", maxLintInput)
}

func printLint(g *globals, f *lintFlags, r *lint.Report) error {
	if f.json || f.answer != "" { // --answer prints JSON, whatever comes of it
		fmt.Fprintf(g.env.stdout, "%s\n", r.JSON())
	} else {
		fmt.Fprint(g.env.stdout, r.Text())
	}
	return lintExit(r.OK())
}

func lintAnswer(g *globals, f *lintFlags, r *lint.Report) error {
	answers, err := r.CheckAnswers([]byte(f.answer))
	if err != nil {
		return usagef(fmt.Errorf("--answer: %w", err))
	}
	fmt.Fprintf(g.env.stdout, "%s\n", r.AnswersJSON(answers))
	return lintExit(lint.AnswersOK(answers))
}

// lintExit is silent: the report has said it.
func lintExit(ok bool) error {
	if ok {
		return nil
	}
	return &exitError{code: exitFailed, silent: true, err: errors.New("refused")}
}

func lintRender(g *globals, f *lintFlags, r *lint.Report) error {
	columns, rows, _ := strings.Cut(f.render, "x")
	w, werr := strconv.Atoi(columns)
	h, herr := strconv.Atoi(rows)
	if werr != nil || herr != nil || w < formview.MinWidth || h < formview.MinHeight || w > 500 || h > 200 {
		return usagef(fmt.Errorf("--render %q: a size is COLUMNSxROWS, %dx%d to 500x200", f.render, formview.MinWidth, formview.MinHeight))
	}
	still := time.Now()
	for i, q := range r.Requests {
		form := q.Form
		if form.Requester == (forms.Requester{}) {
			form.Requester = forms.Requester{Name: "lint"}
		}
		m := formview.New(formview.Request{ID: "lint", Form: form.Project(), Position: i + 1, Total: len(r.Requests)},
			formview.Options{Theme: theme.FromEnv(g.env.getenv), Now: func() time.Time { return still }})
		m.Resize(w, h)
		rows := strings.Split(ansi.Strip(m.View()), "\n")
		for i := range rows {
			rows[i] = strings.TrimRight(rows[i], " ")
		}
		fmt.Fprintln(g.env.stdout, strings.Join(rows, "\n"))
	}
	return nil
}
