package formview

import (
	"strings"
	"testing"

	"askback/forms"
)

var textSamples = []string{"", "plain", "two words", "日本語テキスト", "👩‍👩‍👧👍🏽🇯🇵", "e\u0301\u0301x", "a-very-long-word-without-blanks", "नमस्ते दुनिया", "a\nb\n\nc", "  lead and trail  ", "\u200b\u202ehidden"}

// Cutting never makes a text longer than asked, nor changes one that fits.
func TestCuts(t *testing.T) {
	for _, s := range textSamples {
		s = forms.Line(s)
		for n := 1; n < 40; n++ {
			for name, got := range map[string]string{"cut": cut(s, n), "cutMiddle": cutMiddle(s, n)} {
				if w := cells(got); w > n {
					t.Errorf("%s(%q, %d) is %d wide: %q", name, s, n, w, got)
				}
				if cells(s) <= n && got != s {
					t.Errorf("%s(%q, %d) changed it: %q", name, s, n, got)
				}
			}
		}
	}
	if got := cutMiddle("eu-west-1a-production", 11); got != "eu-we"+ellipsis+"ction" {
		t.Error(got)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range textSamples {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = 1 + (n&0x7fffffff)%200
		flatText, _, _ := flat(s)
		if strings.ContainsAny(flatText, "\n\r\t\x1b") || forms.Line(flatText) != flatText && forms.Line(flatText) == "" {
			t.Errorf("flat(%q) = %q", s, flatText)
		}
		if again, breaks, hidden := flat(flatText); again != flatText && !hidden || breaks {
			t.Errorf("flat is not settled: %q, %q", flatText, again)
		}
		for _, row := range wrap(forms.Block(s), max(2, n)) {
			if cells(row) > max(2, n) || strings.Contains(row, "\n") {
				t.Errorf("wrap(%q, %d) has %q", s, n, row)
			}
		}
		line := forms.Line(s)
		if w := cells(cutMiddle(line, n)); w > n {
			t.Errorf("cutMiddle(%q, %d) is %d wide", line, n, w)
		}
	})
}
