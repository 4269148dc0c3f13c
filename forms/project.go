package forms

import (
	"strings"
	"unicode/utf8"
)

// Line makes text that came from elsewhere safe to show on one line: a label,
// a name, a title. Line breaks and tabs become a space; nothing else is
// removed. Controls become \xHH, hidden characters \u{h…}, invalid UTF-8
// U+FFFD. It is idempotent, and never for what is sent back.
func Line(s string) string { return project(s, ' ') }

// Block is [Line] for text that may have several lines, such as a message or a
// description: line breaks of every kind become LF.
func Block(s string) string { return project(s, '\n') }

// maxMarks is how many combining marks one base may carry.
const maxMarks = 4

// project is the display projection. br is what a line break becomes.
func project(s string, br byte) string {
	start := clean(s, br)
	if start == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:start])
	p := projector{out: &b, br: br}
	p.run(s[start:])
	return b.String()
}

// clean is the length of the plain ASCII text that s starts with and that
// needs no projection.
func clean(s string, br byte) int {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 || c >= 0x7f) && (c != '\n' || br != '\n') {
			// A base stays with its marks: they are counted together.
			return max(0, i-1)
		}
	}
	return len(s)
}

// projector walks a text and writes its projection.
type projector struct {
	out   *strings.Builder
	br    byte
	prev  rune // the last character kept as it was, 0 after an escape
	marks int  // combining marks on the current base
	pict  bool // a pictograph stands before, with its selectors and tones
}

func (p *projector) run(s string) {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		rest := s[i+size:]
		switch {
		case r == utf8.RuneError && size == 1:
			p.keep(utf8.RuneError)
		case r == '\r' && strings.HasPrefix(rest, "\n"):
			size++
			p.keep(rune(p.br))
		case r == '\n', r == '\r', r == 0x85, r == 0x2028, r == 0x2029:
			p.keep(rune(p.br))
		case r == '\t':
			p.keep(' ')
		case r < 0x20, r >= 0x7f && r < 0xa0:
			p.escape("x", r, 2)
		case r == zwj && p.pict && startsPictograph(rest):
			p.join()
		case (r == vs15 || r == vs16) && isSymbol(p.prev):
			p.mark(r, p.pict)
		case isHidden(r):
			p.escape("u", r, 0)
		case isMark(r):
			if p.marks++; p.marks > maxMarks {
				p.escape("u", r, 0)
			} else {
				p.mark(r, false)
			}
		default:
			p.keep(r)
		}
		i += size
	}
}

// keep writes a character that is a new base.
func (p *projector) keep(r rune) {
	p.out.WriteRune(r)
	p.pict = isPictograph(r) || p.pict && isSkinTone(r)
	p.prev, p.marks = r, 0
}

// mark writes a character that belongs to the base before it.
func (p *projector) mark(r rune, pict bool) {
	p.out.WriteRune(r)
	p.prev, p.pict = r, pict
}

// join writes a ZWJ between two pictographs.
func (p *projector) join() {
	p.out.WriteRune(zwj)
	p.prev, p.pict = zwj, false
}

const hexDigits = "0123456789abcdef"

// escape writes r visibly: \xHH, or \u{h…}. Marks that follow still belong to
// the base before it, so that a flood cannot be cut into pieces.
func (p *projector) escape(kind string, r rune, width int) {
	p.out.WriteByte('\\')
	p.out.WriteString(kind)
	if width == 0 {
		p.out.WriteByte('{')
	}
	shift := 4 * (width - 1)
	if width == 0 {
		for shift = 20; shift > 0 && r>>shift == 0; {
			shift -= 4
		}
	}
	for ; shift >= 0; shift -= 4 {
		p.out.WriteByte(hexDigits[r>>shift&0xf])
	}
	if width == 0 {
		p.out.WriteByte('}')
	}
	p.prev, p.pict = 0, false
}

func startsPictograph(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isPictograph(r)
}

// Project is f as it is safe to show: message, requester, labels and
// descriptions go through the display projection. Names and option values are
// identities and stay; a text default that the projection would change is
// dropped. Labels that became equal are told apart by their values. It is
// idempotent. The result is admitted by [Limits.Projected].
func (f Form) Project() Form {
	out := f
	out.Message = Block(f.Message)
	out.Requester = Requester{Name: Line(f.Requester.Name), Source: Line(f.Requester.Source)}
	out.Fields = make([]Field, len(f.Fields))
	for i := range f.Fields {
		out.Fields[i] = f.Fields[i].project()
	}
	return out
}

func (f Field) project() Field {
	f.Label = shown(Line(f.Label), f.Name)
	f.Description = Block(f.Description)
	if f.Kind == KindString && f.Default.Type() == Text && Block(f.Default.text) != f.Default.text {
		f.Default = Value{}
	}
	if f.Options == nil {
		return f
	}
	opts := make([]Option, len(f.Options))
	for i, o := range f.Options {
		opts[i] = Option{Value: o.Value, Label: shown(Line(o.Label), o.Value), Description: Block(o.Description)}
	}
	tellApart(opts, maxShownLabel)
	f.Options = opts
	return f
}

// maxShownLabel bounds what the projection adds to a label.
const maxShownLabel = 4 * 256

// shown is a label, or the quoted value where the label shows nothing.
func shown(label, value string) string {
	if strings.TrimSpace(label) != "" {
		return label
	}
	return `"` + cutTo(Line(value), maxShownLabel-2) + `"`
}

// isBlank reports text that shows nothing.
func isBlank(s string) bool { return strings.TrimSpace(Line(s)) == "" }
