package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs keeps the pages on screens and keys what the program is. With -update it writes them.
func TestDocs(t *testing.T) {
	for name, text := range map[string]string{"screens.md": screensPage(t), "keys.md": keysPage()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "docs", name)
			if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != text {
				t.Errorf("%s is not what the program shows; go test ./tui -update writes it", path)
			}
		})
	}
}

func keysPage() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nThe last row of each screen names the keys that matter there; `f1` shows all of them. This page is made of\nthe same table.\n")
	where := ""
	for _, k := range bindings {
		if k.where != where {
			where = k.where
			fmt.Fprintf(&b, "\n## %s\n\n| key | does |\n| --- | --- |\n", strings.ToUpper(where[:1])+where[1:])
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.key, k.does)
	}
	b.WriteString(`
## Rules

* Nothing irreversible follows from one key on a screen where text is typed. Submit is on the review, decline and
  dismiss are asked once, and so is leaving while a call is open.
* What opens by itself, a review, a question and a form that has ended ignore keys until those have paused for 400 ms,
  and so does a screen of letters that decide once another is typed. What was typed for something else decides nothing.
* An enter that comes at once with a text of several lines, or with what an input method commits, sends nothing, and a
  tab among such lines moves nothing. A text that comes in one piece is never a key, whatever it spells.
* Only a person's confirmed decision sends an answer. Leaving, a signal, a lost terminal or connection and the end of
  the input send none.
* Below 40×12 the screen says so and takes ` + "`ctrl+c`" + ` only.
`)
	return b.String()
}

// pictures are the scenes of the page, with what to say of them.
var pictures = []struct{ scene, title, about string }{
	{"waiting", "The session", "What was said and which tools ran, a composer, and the keys. A tool that waits for the person says so and for how long."},
	{"form", "A form", "The first two rows are the program's own: who asks, and the warning. What came from a server stands only in rows that begin with a bar."},
	{"form_review", "Its review", "Every value as it would be sent. Submit is here and nowhere else."},
	{"form_queue", "Two forms at once", "They queue in the Host's order; each keeps its draft."},
	{"form_asked_again", "Asked again", "When the same tool call asks again, its form starts from that call's last answers."},
	{"form_elsewhere", "Answered elsewhere", "Another surface was faster: its answer is shown, and what was typed can be copied."},
	{"form_closed", "Closed", "A form that ends without an answer says why."},
	{"form_hostile", "Hostile texts", "Everything that came from elsewhere is made visible; nothing of it reaches the terminal as a command."},
	{"tools", "Tools", "Type to filter, enter asks for the arguments with the same kind of form."},
	{"arguments_raw", "Raw arguments", "What a form cannot ask for is written as JSON, and the reason is given."},
	{"sessions", "Sessions", ""},
	{"server_failed", "Servers", "State, error, the last lines of stderr; `r` restarts."},
	{"bypass", "The question about bypass", "Tools of this program run on another program's Host only in sessions that allow everything. That is asked, never set silently."},
	{"quit", "Leaving while a call is open", ""},
}

func screensPage(t *testing.T) string {
	byName := map[string]scene{}
	for _, s := range scenes() {
		byName[s.name] = s
	}
	var b strings.Builder
	b.WriteString("# Screens\n\nThe main screens at 80×24, runs of empty rows left out, and the form once more at 40×12. They are drawn by the\nprogram's own tests; `tui/testdata` has every screen and state at four sizes.\n")
	for _, p := range pictures {
		s, ok := byName[p.scene]
		if !ok {
			t.Fatalf("there is no scene %s", p.scene)
		}
		fmt.Fprintf(&b, "\n## %s\n\n", p.title)
		if p.about != "" {
			fmt.Fprintf(&b, "%s\n\n", p.about)
		}
		fmt.Fprintf(&b, "```text\n%s```\n", squeeze(s.make(t, 80, 24).frame()))
		if p.scene == "form" {
			fmt.Fprintf(&b, "\n```text\n%s```\n", squeeze(s.make(t, 40, 12).frame()))
		}
	}
	return b.String()
}

// squeeze leaves out runs of empty rows.
func squeeze(frame string) string {
	var b strings.Builder
	empty := 0
	for row := range strings.SplitSeq(frame, "\n") {
		if row == "" {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		b.WriteString(row + "\n")
	}
	return b.String()
}
