package tui

import (
	"strings"
	"testing"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/theme"
)

// In a locale without UTF-8 our own signs are ASCII. What a server wrote and what was typed stays as it is: a review
// that shows another value than is sent, or two options that look alike, would deceive.
func TestASCIIChangesNoText(t *testing.T) {
	const typed = "a→b … 3×4 • µ ⏎ · ─"
	f := forms.Form{Message: "Which way: A → B, 3×4 µ…?", Requester: forms.Requester{Name: "deploy", Source: "demo"}, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "t", Label: "Way → there", Required: true},
		{Kind: forms.KindSingleSelect, Name: "o", Label: "Direction", Required: true, Options: []forms.Option{{Value: "1", Label: "A → B"}, {Value: "2", Label: "A > B"}, {Value: "3", Label: "A … B"}, {Value: "4", Label: "A ~ B"}}},
	}}
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		d := calling(t, size[0], size[1], func(o *Options) { o.Theme = theme.New(theme.Attributes).WithASCII() })
		d.typing("say " + typed).want("> say " + typed)
		d.press("ctrl+u")
		d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "u9", Kind: hostview.RowUser, TurnID: "t1", Text: typed}}})
		d.want("you", typed)
		d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", f)}})
		d.tick(past).typing(typed).want("| Which way: A → B, 3×4 µ…?", "# Way → there", "# > "+typed)
		d.press("enter").want("( ) A → B", "( ) A > B", "( ) A … B", "( ) A ~ B")
		d.press("down", "enter").want("| Way → there: "+typed, "# Direction: A → B", "nothing is sent yet")
		if strings.ContainsAny(d.frame(), "│▌") {
			t.Errorf("a bar that is not ASCII:\n%s", d.frame())
		}
	}
}
