package lineapp

import (
	"fmt"
	"io"
	"strings"

	"askback/forms"
	"askback/tui/linemode"
)

// printer writes lines and keeps the first error.
type printer struct {
	w io.Writer

	columns func() int // of the terminal; nil: it is none

	n   int // lines so far
	err error
}

func (p *printer) line(format string, args ...any) {
	p.n++
	p.text(format+"\n", args...)
}

func (p *printer) text(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) width() int {
	if p.columns == nil {
		return 0
	}
	return p.columns()
}

// maxQuoted is how many lines of a text are printed.
const maxQuoted = 200

// quote writes a text that came from elsewhere behind the bar.
func (p *printer) quote(s string) {
	if len(s) > 64<<10 {
		s = strings.ToValidUTF8(s[:64<<10], "") + "\n…"
	}
	lines := strings.Split(strings.TrimRight(forms.Block(s), "\n"), "\n")
	for i, l := range lines {
		if i == maxQuoted {
			p.line("| … %d more lines", len(lines)-i)
			return
		}
		for row := range linemode.Quoted("", l, p.width()) {
			p.line("%s", row)
		}
	}
}
