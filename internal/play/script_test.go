package play

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

func TestParse(t *testing.T) {
	steps, err := Parse(strings.NewReader("# a comment\nrun demo\n\nsize 40x12 # small\n" +
		"type \"/call \\\"x\\\"\\u00e9\"\nkey enter shift+tab ctrl+s alt+b space y f1\npaste `a\\n`\nwait 90s\nwait \"90s\"\nwait staging\nwait-form\nsnapshot one.two\nexpect-exit 6\nrun --config \"my file.json\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != 12 {
		t.Fatalf("%d steps", len(steps))
	}
	if s := steps[1]; s.Line != 4 || s.Width != 40 || s.Height != 12 {
		t.Errorf("size: %+v", s)
	}
	if s := steps[2]; s.Text != `/call "x"é` {
		t.Errorf("type: %+v", s)
	}
	names := []string{}
	for _, k := range steps[3].Keys {
		names = append(names, k.String())
	}
	if got := strings.Join(names, ","); got != "enter,shift+tab,ctrl+s,alt+b, ,y,f1" {
		t.Errorf("keys: %s", got)
	}
	if s := steps[4]; s.Text != `a\n` {
		t.Errorf("paste: %+v", s)
	}
	if steps[5].Duration != 90*time.Second || steps[6].Text != "90s" || steps[7].Text != "staging" {
		t.Errorf("waits: %+v", steps[5:8])
	}
	if steps[10].Exit != 6 || steps[11].Args[1] != "my file.json" {
		t.Errorf("last: %+v", steps[10:])
	}
}

func TestParseNamesTheLine(t *testing.T) {
	for script, want := range map[string]string{
		"":               "empty",
		"run demo\nfly":  `line 2: "fly" is no command`,
		"run":            "run takes",
		"run attach":     "run takes",
		"size 80":        "80x24",
		"size 9x9":       "20x5",
		"key":            "one or more key names",
		"key ctrl+nope":  "no key has that name",
		"key alt+":       "no key has that name",
		"type a b":       "one word or one quoted text",
		`type "a`:        "does not end",
		"wait -3s":       "forwards",
		"snapshot ../x":  "a name is",
		"expect-exit -1": "0 to 255",
		"wait-form now":  "wait-form takes no word",
		"run demo\nsnapshot a\nsnapshot b\nsnapshot a": "line 4: snapshot a: line 2 has that name already",
		"type \xff":                "not UTF-8",
		strings.Repeat("#", 70000): "too long",
	} {
		_, err := Parse(strings.NewReader(script))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", script, err, want)
		}
	}
	_, err := Parse(strings.NewReader("\n\nfly"))
	if e, ok := errors.AsType[*ParseError](err); !ok || e.Line != 3 {
		t.Errorf("got %v", err)
	}
}

func TestEveryNameIsAKey(t *testing.T) {
	for name := range keyNames {
		k, ok := keyNamed(name)
		if want := name; !ok || (name != "space" && k.String() != want) {
			t.Errorf("%q gives %q", name, k.String())
		}
	}
	if k, _ := keyNamed("space"); k.Type != tea.KeySpace || string(k.Runes) != " " {
		t.Errorf("space: %+v", k)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("run demo\nkey enter\nwait \"x\"\n")
	f.Add("type `a` # b\nsize 80x24")
	f.Fuzz(func(t *testing.T, script string) {
		steps, err := Parse(strings.NewReader(script))
		if err == nil && len(steps) == 0 {
			t.Fatal("no steps and no error")
		}
	})
}
