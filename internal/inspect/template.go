package inspect

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// expression is one {…} of a URI template (RFC 6570): an operator and its variables.
type expression struct {
	from, to int // within the template
	op       byte
	vars     []string
}

// TemplateVariables are the variables of a URI template, each once, in their order.
func TemplateVariables(template string) []string {
	seen := map[string]bool{}
	var out []string
	for _, e := range expressions(template) {
		for _, v := range e.vars {
			if !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// needed says whether a variable of a URI template stands where the address is not one without it: alone, as in {id}.
// With an operator, as in {?q} or {/path}, it is left out together with what the operator puts before it.
func needed(template, variable string) bool {
	for _, e := range expressions(template) {
		if e.op == 0 && slices.Contains(e.vars, variable) {
			return true
		}
	}
	return false
}

func expressions(t string) []expression {
	var out []expression
	for at := 0; ; {
		i := strings.IndexByte(t[at:], '{')
		if i < 0 {
			return out
		}
		from := at + i
		n := strings.IndexByte(t[from:], '}')
		if n < 0 {
			return out
		}
		e := expression{from: from, to: from + n + 1}
		body := t[from+1 : from+n]
		if body != "" && strings.IndexByte("+#./;?&", body[0]) >= 0 {
			e.op, body = body[0], body[1:]
		}
		for v := range strings.SplitSeq(body, ",") {
			v, _, _ = strings.Cut(v, ":")
			if v = strings.TrimSuffix(v, "*"); v != "" {
				e.vars = append(e.vars, v)
			}
		}
		out = append(out, e)
		at = e.to
	}
}

// ExpandTemplate puts texts in the place of the variables of a URI template. A variable without a value is left out,
// as the RFC has it. Prefix lengths and explode marks mean nothing for plain texts that are given whole.
func ExpandTemplate(template string, values map[string]string) string {
	var b strings.Builder
	at := 0
	for _, e := range expressions(template) {
		b.WriteString(template[at:e.from])
		e.expand(&b, values)
		at = e.to
	}
	b.WriteString(template[at:])
	return b.String()
}

func (e expression) expand(b *strings.Builder, values map[string]string) {
	first, sep := "", ","
	switch e.op {
	case '#', '.', '/', ';', '?', '&':
		first = string(e.op)
		sep = map[byte]string{'#': ",", '.': ".", '/': "/", ';': ";", '?': "&", '&': "&"}[e.op]
	}
	for _, v := range e.vars {
		val, ok := values[v]
		if !ok {
			continue
		}
		b.WriteString(first)
		first = sep
		switch e.op {
		case '+', '#':
			b.WriteString(reserved(val))
		case ';':
			b.WriteString(v)
			if val != "" {
				b.WriteString("=" + unreserved(val))
			}
		case '?', '&':
			fmt.Fprintf(b, "%s=%s", v, unreserved(val))
		default:
			b.WriteString(unreserved(val))
		}
	}
}

// unreserved escapes all but what the RFC calls unreserved.
func unreserved(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// reserved lets what has a meaning in an address through as well, and what is escaped already.
func reserved(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r < 0x80 && strings.ContainsRune(":/?#[]@!$&'()*+,;=", r), r == '%' && isEscape(s[i:]):
			b.WriteRune(r)
		default:
			b.WriteString(unreserved(string(r)))
		}
	}
	return b.String()
}

func isEscape(s string) bool {
	if len(s) < 3 {
		return false
	}
	_, err := url.PathUnescape(s[:3])
	return err == nil
}
