package lint

import (
	"fmt"
	"strconv"
	"strings"

	"askback/forms"
)

// Text is the report for people, ending in a line break. Everything that came
// from the input goes through the display projection.
func (r *Report) Text() string {
	var b strings.Builder
	if len(r.Problems) > 0 {
		writeErrors(&b, r.Problems)
		return b.String()
	}
	if r.FromResult && len(r.Requests) == 0 {
		b.WriteString("ok: a result that asks nothing\n")
	}
	for i, q := range r.Requests {
		if i > 0 {
			b.WriteString("\n")
		}
		if r.FromResult {
			fmt.Fprintf(&b, "request %s\n", quote(q.Key))
		}
		q.write(&b)
	}
	return b.String()
}

func (q Request) write(b *strings.Builder) {
	if len(q.Errors) > 0 {
		writeErrors(b, q.Errors)
		return
	}
	switch n := len(q.Form.Fields); n {
	case 0:
		b.WriteString("ok: a form without fields, which asks for consent\n")
	case 1:
		b.WriteString("ok: a form with 1 field\n")
	default:
		fmt.Fprintf(b, "ok: a form with %d fields\n", n)
	}
	b.WriteString("\nmessage\n")
	for line := range strings.Lines(forms.Block(q.Form.Message)) {
		fmt.Fprintf(b, "  %s\n", strings.TrimSuffix(line, "\n"))
	}
	if len(q.Form.Fields) > 0 {
		b.WriteString("\nfields\n")
		for i, fd := range q.Form.Fields {
			writeField(b, i+1, fd)
		}
	}
	if len(q.Ignored) > 0 {
		b.WriteString("\nignored\n")
		for _, ig := range q.Ignored {
			fmt.Fprintf(b, "  %s\n", named(ig.Field, forms.Line(ig.Keyword)))
		}
	}
	if len(q.Warnings) > 0 {
		b.WriteString("\nwarnings\n")
		for _, w := range q.Warnings {
			fmt.Fprintf(b, "  %s\n", named(w.Field, forms.Line(w.Message)))
		}
	}
}

func writeErrors(b *strings.Builder, es forms.SchemaErrors) {
	if len(es) == 1 {
		b.WriteString("refused\n")
	} else {
		fmt.Fprintf(b, "refused, for %d reasons\n", len(es))
	}
	for _, e := range es {
		fmt.Fprintf(b, "  %s\n", forms.Line(e.Error()))
	}
}

func writeField(b *strings.Builder, n int, fd forms.Field) {
	need := "optional"
	if fd.Required {
		need = "required"
	}
	fmt.Fprintf(b, "  %d. %s: %s, %s\n", n, quote(fd.Name), kindWords(fd), need)
	row := func(name, text string) { fmt.Fprintf(b, "     %-12s %s\n", name, text) }
	row("label", forms.Line(fd.Label))
	if fd.Description != "" {
		row("description", forms.Line(fd.Description))
	}
	if limits := limitWords(fd); limits != "" {
		row("limits", limits)
	}
	for i, o := range fd.Options {
		name := ""
		if i == 0 {
			name = "options"
		}
		row(name, optionWords(o))
	}
	if !fd.Default.IsZero() {
		raw, _ := fd.Default.MarshalJSON()
		row("default", forms.Line(string(raw)))
	}
}

func kindWords(fd forms.Field) string {
	switch fd.Kind {
	case forms.KindString:
		switch fd.Format {
		case forms.FormatEmail:
			return "e-mail address"
		case forms.FormatURI:
			return "URI"
		case forms.FormatDate:
			return "date"
		case forms.FormatDateTime:
			return "date and time"
		}
		return "text"
	case forms.KindNumber:
		return "number"
	case forms.KindInteger:
		return "whole number"
	case forms.KindBoolean:
		return "yes or no"
	case forms.KindSingleSelect:
		return fmt.Sprintf("one of %d", len(fd.Options))
	}
	return fmt.Sprintf("any of %d", len(fd.Options))
}

// limitWords are the bounds of a field: "1 to 256 characters".
func limitWords(fd forms.Field) string {
	var low, high, unit string
	set := func(at *string, n *int) {
		if n != nil {
			*at = strconv.Itoa(*n)
		}
	}
	switch fd.Kind {
	case forms.KindString:
		unit = " characters"
		set(&low, fd.MinLength)
		set(&high, fd.MaxLength)
	case forms.KindMultiSelect:
		unit = " choices"
		set(&low, fd.MinItems)
		set(&high, fd.MaxItems)
	default:
		if fd.Minimum != nil {
			low = fd.Minimum.String()
		}
		if fd.Maximum != nil {
			high = fd.Maximum.String()
		}
	}
	switch {
	case low != "" && high != "":
		return low + " to " + high + unit
	case low != "":
		return "at least " + low + unit
	case high != "":
		return "at most " + high + unit
	}
	return ""
}

func optionWords(o forms.Option) string {
	out := quote(o.Value)
	if o.Label != o.Value {
		out += " shown as " + forms.Line(o.Label)
	}
	if o.Description != "" {
		out += " (" + forms.Line(o.Description) + ")"
	}
	return out
}

// named puts the field in front of what is said about it.
func named(field, text string) string {
	if field == "" {
		return text
	}
	return quote(field) + ": " + text
}

// quote is an identity in quotes, safe to show.
func quote(s string) string { return `"` + forms.Line(s) + `"` }
