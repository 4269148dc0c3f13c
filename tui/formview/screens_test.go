package formview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/theme"
)

var sizes = [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 60}}

// screen is a state of a form, reached by keys or by act.
type screen struct {
	name string
	req  Request
	keys string
	act  func(*driver)
}

// kindScreens are the six kinds, each with the focus, filled, wrong and left out.
func kindScreens() []screen {
	rest := text("z", false)
	rest.Label = "Another field"
	one := func(f forms.Field) Request {
		f.Name = "f"
		return Request{Form: form("Please fill this in.", f, rest)}
	}
	str := forms.Field{Kind: forms.KindString, Label: "Release name", MinLength: ptr(3), MaxLength: ptr(20), Description: "As it will stand in the changelog."}
	num := forms.Field{Kind: forms.KindNumber, Label: "Traffic ratio", Minimum: number("0"), Maximum: number("1")}
	whole := forms.Field{Kind: forms.KindInteger, Label: "Replicas", Minimum: number("1"), Maximum: number("5")}
	boolean := forms.Field{Kind: forms.KindBoolean, Label: "Force push", Description: "Overwrites what is there."}
	single := everyKind().Fields[7]
	multi := everyKind().Fields[8]
	need := func(f forms.Field) forms.Field { f.Required = true; return f }
	free := func(f forms.Field) forms.Field { f.Required = false; return f }
	return []screen{
		{"string/focused", one(str), "", nil},
		{"string/filled", one(str), "v1.2", nil},
		{"string/wrong", one(str), "v1 tab shift+tab", nil},
		{"string/left out", one(str), "x ctrl+o tab", nil},
		{"number/focused", one(num), "", nil},
		{"number/filled", one(num), "0.25", nil},
		{"number/wrong", one(need(num)), "0,25 tab shift+tab", nil},
		{"number/left out", one(num), "1 ctrl+o tab", nil},
		{"integer/focused", one(whole), "", nil},
		{"integer/filled", one(need(whole)), "3", nil},
		{"integer/wrong", one(need(whole)), "42xyz tab", nil},
		{"integer/left out", one(whole), "tab", nil},
		{"boolean/focused", one(need(boolean)), "", nil},
		{"boolean/filled", one(need(boolean)), "y", nil},
		{"boolean/wrong", one(need(boolean)), "tab shift+tab", nil},
		{"boolean/left out", one(free(boolean)), "n ctrl+o", nil},
		{"single_select/focused", one(need(single)), "", nil},
		{"single_select/filled", one(need(single)), "down down space", nil},
		{"single_select/wrong", one(need(single)), "tab shift+tab", nil},
		{"single_select/left out", one(free(single)), "down enter shift+tab ctrl+o", nil},
		{"multi_select/focused", one(multi), "", nil},
		{"multi_select/filled", one(multi), "space down down space", nil},
		{"multi_select/wrong", one(multi), "space down space down space tab shift+tab", nil},
		{"multi_select/left out", one(free(multi)), "tab", nil},
		{"multi_select/empty list", one(everyKind().Fields[9]), "ctrl+o", nil},
	}
}

func otherScreens() []screen {
	consent := Request{Form: form("Delete the file build-41.tar.gz? This cannot be undone.")}
	question := req(forms.Field{Kind: forms.KindBoolean, Name: "value", Label: "Delete the file?", Required: true})
	secret := Request{Form: form("Sign in to the registry. Details: https://registry.example/help",
		forms.Field{Kind: forms.KindString, Name: "user", Label: "User"}, forms.Field{Kind: forms.KindString, Name: "api_key", Label: "API key", Required: true})}
	earlier := draft.Answers{}
	earlier.Remember(deployForm(), forms.Values{"env": forms.TextValue("staging"), "note": forms.TextValue("the first try")})
	long := form(strings.Repeat("A message that goes on and on, and that one must be able to read to its very end. ", 30), deployForm().Fields...)
	deploy := Request{Form: deployForm(), Position: 1, Total: 2}
	filled := "down enter y tab hello"
	return []screen{
		{"deploy/open", deploy, "", nil},
		{"deploy/filled", deploy, filled, nil},
		{"deploy/review", deploy, filled + " enter", nil},
		{"deploy/review wrong", deploy, "ctrl+s", nil},
		{"deploy/decline", deploy, "ctrl+x", nil},
		{"deploy/dismiss", deploy, filled + " esc", nil},
		{"deploy/sending", deploy, filled + " enter s", nil},
		{"deploy/sending decline", deploy, "ctrl+x y", nil},
		{"deploy/refused", deploy, filled + " enter s", func(d *driver) { d.m.Refused(`"note": must be polite`) }},
		{"deploy/answered elsewhere", deploy, filled, func(d *driver) {
			d.m.Answered(forms.Accept(forms.Values{"env": forms.TextValue("production"), "confirm": forms.BoolValue(true)}))
		}},
		{"deploy/declined elsewhere", deploy, "", func(d *driver) { d.m.Answered(forms.Decline()) }},
		{"deploy/closed", deploy, filled, func(d *driver) { d.m.Closed("the provider was lost") }},
		{"deploy/closed untouched", deploy, "", func(d *driver) { d.m.Closed("the Turn was stopped") }},
		{"deploy/reconnecting", deploy, filled, func(d *driver) { d.m.Connection(Reconnecting) }},
		{"deploy/asked again", Request{Form: deployForm(), Earlier: earlier}, "", nil},
		{"deploy/second of two", Request{Form: deployForm(), Position: 2, Total: 2}, "", nil},
		{"deploy/unknown server", Request{Form: forms.Form{Message: "Go?", Requester: forms.Requester{Name: "deploy"}, Fields: deployForm().Fields}}, "", nil},
		{"deploy/arguments", Request{Form: deployForm(), Arguments: true}, "down enter", nil},
		{"consent/open", consent, "", nil},
		{"consent/long", Request{Form: form(long.Message)}, "", nil},
		{"question/open", question, "", nil},
		{"question/yes", question, "y", nil},
		{"question/dismiss", question, "esc", nil},
		{"survey/first", Request{Form: everyKind()}, "", nil},
		{"survey/middle", Request{Form: everyKind()}, "v1.2 tab tab tab tab tab", nil},
		{"survey/review", Request{Form: everyKind()}, "v1.2 ctrl+s", nil},
		{"secret/open", secret, "", nil},
		{"secret/review", secret, "tab abc enter", nil},
		{"long list/open", selectsRequest(2, 64), "", nil},
		{"long list/moved", selectsRequest(2, 64), "down*40 space", nil},
		{"long list/filtered", selectsRequest(2, 64), "06", nil},
		{"long list/no match", selectsRequest(2, 64), "zz", nil},
		{"long message/open", Request{Form: long}, "", nil},
		{"long message/in full", Request{Form: long}, "ctrl+g pgdown", nil},
		{"hostile/first", Request{Form: hostileForm()}, "", nil},
		{"hostile/options", Request{Form: hostileForm()}, "tab down", nil},
		{"hostile/review", Request{Form: hostileForm()}, "x tab down enter", nil},
		{"hostile/in full", Request{Form: hostileForm()}, "tab ctrl+g", nil},
		{"wide/first", Request{Form: wideForm()}, "", nil},
		{"wide/options", Request{Form: wideForm()}, "tab down", nil},
		{"wide/review", Request{Form: wideForm()}, "tab down enter", nil},
	}
}

// TestScreens holds every state at four sizes. The frames are plain text: what they say needs no colour.
func TestScreens(t *testing.T) {
	for _, s := range append(kindScreens(), otherScreens()...) {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dx%d", s.name, size[0], size[1]), func(t *testing.T) {
				d := s.show(t, size[0], size[1], plainTheme())
				rules(t, d)
				golden.RequireEqual(t, []byte(d.view()+"\n"))
			})
		}
	}
	t.Run("too small", func(t *testing.T) {
		golden.RequireEqual(t, []byte(drive(t, Request{Form: deployForm()}, 39, 11).view()+"\n"))
	})
}

func (s screen) show(t *testing.T, w, h int, th *theme.Theme) *driver {
	d := driveWith(t, s.req, w, h, th).keys(s.keys)
	if s.act != nil {
		s.act(d)
	}
	return d
}

// rules are frameRules for a form whose requester is not the fuzzed one.
func rules(t *testing.T, d *driver) {
	t.Helper()
	v := ansi.Strip(d.m.View())
	rows := strings.Split(v, "\n")
	if who := d.m.draft.Shown.Requester.Name; !strings.Contains(rows[0], who[:6]) {
		t.Errorf("the first row does not say who asks: %q", rows[0])
	}
	rows[0] = "tool · server"
	if err := frameRules(d.m, strings.Join(rows, "\n"), d.w, d.h); err != nil {
		t.Error(err)
	}
}

// TestLooks holds a few screens with their attributes and colours: dark, light, and attributes alone.
func TestLooks(t *testing.T) {
	pick := map[string]bool{"string/filled": true, "single_select/filled": true, "boolean/wrong": true, "deploy/review wrong": true, "secret/open": true, "question/yes": true, "long list/filtered": true}
	for _, name := range []theme.Name{theme.Dark, theme.Light, theme.Attributes} {
		for _, s := range append(kindScreens(), otherScreens()...) {
			if !pick[s.name] {
				continue
			}
			t.Run(string(name)+"/"+s.name, func(t *testing.T) {
				lipgloss.SetColorProfile(termenv.ANSI)
				defer lipgloss.SetColorProfile(termenv.Ascii)
				d := s.show(t, 80, 24, theme.New(name))
				if plain := s.show(t, 80, 24, plainTheme()); ansi.Strip(d.view()) != ansi.Strip(plain.view()) {
					t.Error("a theme changes what is said")
				}
				golden.RequireEqual(t, []byte(d.m.View()+"\n"))
			})
		}
	}
}
