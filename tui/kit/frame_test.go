package kit

import "testing"

// Our own signs become ASCII; what stands behind a bar, or was kept, is nobody's to change.
func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		"──────":                            "------",
		"a · b … c":                         "a - b ~ c",
		"| a→b … 3×4 • µ":                   "| a→b … 3×4 • µ",
		"   \x1b[2m|\x1b[0m A → B · c":      "   \x1b[2m|\x1b[0m A → B · c",
		"# Alpha: a→b":                      "# Alpha: a→b",
		"| a text that is cut he…":          "| a text that is cut he~",
		"| short…":                          "| short…",
		"a | b → c":                         "a | b > c",
		"· one\n| two → three\n→ four":      "- one\n| two → three\n> four",
		Keep("> what → is · typed") + "\n·": "> what → is · typed\n-",
	} {
		if got := ASCII(in, 24); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
