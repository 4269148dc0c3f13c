package formview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

func req(fields ...forms.Field) Request { return Request{Form: form("Please answer.", fields...)} }

func text(name string, required bool) forms.Field {
	return forms.Field{Kind: forms.KindString, Name: name, Label: strings.ToUpper(name), Required: required}
}

func ofKind(k forms.Kind, name string, required bool) forms.Field {
	f := text(name, required)
	f.Kind = k
	return f
}

func with(f forms.Field, set func(*forms.Field)) forms.Field {
	set(&f)
	return f
}

func defaulted(f forms.Field, v forms.Value) forms.Field {
	f.Default = v
	return f
}

func choice(name string, required bool, labels ...string) forms.Field {
	f := ofKind(forms.KindSingleSelect, name, required)
	f.Options = options(labels...)
	return f
}

// TestAnswers types into forms and compares what leaves. A key that is no key's name is typed letter by letter.
func TestAnswers(t *testing.T) {
	num, whole, boolean := forms.KindNumber, forms.KindInteger, forms.KindBoolean
	tags := with(ofKind(forms.KindMultiSelect, "t", false), func(f *forms.Field) { f.Options = options("r", "g", "b") })
	for _, c := range []struct {
		name string
		req  Request
		keys string
		want string // the values that leave
	}{
		{"FX-01 integer 1-3", req(with(ofKind(whole, "scoops", true), func(f *forms.Field) { f.Minimum, f.Maximum = number("1"), number("3") })), "2 enter s", `{"scoops":2}`},
		{"FX-02 a choice is stored where the cursor stands", req(choice("choice", true, "a", "b")), "down enter s", `{"choice":"a"}`},
		{"FX-03 an untouched optional select is left out", req(choice("size", false, "S", "M"), text("name", true)), "tab Ada enter s", `{"name":"Ada"}`},
		{"FX-03 enter on leave out", req(choice("size", false, "S", "M"), text("name", true)), "enter Ada enter s", `{"name":"Ada"}`},
		{"FX-05 enter on the last field reviews", req(text("a", true)), "x enter s", `{"a":"x"}`},
		{"FX-06 one screen for a question", req(ofKind(boolean, "value", true)), "y s", `{"value":true}`},
		{"FX-20 n answers no", req(ofKind(boolean, "value", true)), "n s", `{"value":false}`},
		{"FX-20 the last letter counts", req(ofKind(boolean, "value", true)), "y n y s", `{"value":true}`},
		{"FX-09 option 26 of 30", selectsRequest(1, 30), "down*26 enter s", `{"s0":"option 025"}`},
		{"FX-09 type to filter", selectsRequest(1, 30), "25 enter s", `{"s0":"option 025"}`},
		{"FX-10 back from an invalid field", req(text("a", true), text("b", true)), "x enter shift+tab z tab q enter s", `{"a":"xz","b":"q"}`},
		{"FX-12 letters filter", req(choice("l", true, "kotlin", "rust")), "/ ko enter s", `{"l":"kotlin"}`},
		{"FX-12 letters type", req(text("a", true)), "rkjq?/gdsx enter s", `{"a":"rkjq?/gdsx"}`},
		{"FX-13 edit after review", req(text("host", true), ofKind(whole, "port", true)), "devbx tab 80 ctrl+s esc shift+tab backspace ox ctrl+s s", `{"host":"devbox","port":80}`},
		{"FX-14 every field is asked", req(text("a", true), text("b", true)), "1 enter 2 enter s", `{"a":"1","b":"2"}`},
		{"VP-03 a decimal point", req(ofKind(num, "n", true)), "1 . 5 enter s", `{"n":1.5}`},
		{"VP-03 as it was typed", req(ofKind(num, "n", true)), "-1.50 enter s", `{"n":-1.50}`},
		{"VP-04 beyond a float", req(defaulted(ofKind(num, "n", true), numberValue("9007199254740993"))), "enter s", `{"n":9007199254740993}`},
		{"VP-07 empty optional fields", req(with(ofKind(whole, "n", false), func(f *forms.Field) { f.Minimum = number("1") }), text("s", false)), "tab enter s", `{}`},
		{"VP-08 zero and false", req(ofKind(whole, "n", true), ofKind(boolean, "b", true)), "0 enter n ctrl+s s", `{"b":false,"n":0}`},
		{"VP-09 empty text is not sent", req(text("name", true), with(text("email", false), func(f *forms.Field) { f.Format = forms.FormatEmail })), "Ada enter enter s", `{"name":"Ada"}`},
		{"VP-09 cleared text is not sent", req(text("name", true), text("note", false)), "Ada enter x backspace enter s", `{"name":"Ada"}`},
		{"VP-09 all optional, all empty", req(text("a", false), text("b", false)), "ctrl+s s", `{}`},
		{"VP-11 a cleared default stays away", req(defaulted(ofKind(whole, "n", false), numberValue("30"))), "backspace backspace enter s", `{}`},
		{"VP-11 reset brings it back", req(defaulted(ofKind(whole, "n", false), numberValue("30"))), "backspace backspace ctrl+r enter s", `{"n":30}`},
		{"VP-12 a default untouched", req(defaulted(ofKind(whole, "n", true), numberValue("5"))), "enter s", `{"n":5}`},
		{"VP-13 all defaults", req(defaulted(ofKind(boolean, "verified", false), forms.BoolValue(false)), defaulted(ofKind(num, "score", false), numberValue("95.5")), defaulted(ofKind(whole, "age", false), numberValue("30"))),
			"ctrl+s s", `{"age":30,"score":95.5,"verified":false}`},
		{"VP-13 a default of an integer in another spelling", req(defaulted(ofKind(whole, "n", true), numberValue("1e3"))), "enter s", `{"n":1000}`},
		{"VP-14 three states", req(ofKind(boolean, "share", false), defaulted(ofKind(boolean, "keep", true), forms.BoolValue(true))), "ctrl+s s", `{"keep":true}`},
		{"VP-15 letters are no boolean", req(ofKind(boolean, "b", true), text("a", false)), "o space n ctrl+s s", `{"b":false}`},
		{"VP-16 no is an answer, not a decline", req(ofKind(boolean, "approve", true)), "n s", `{"approve":false}`},
		{"VP-24 a number is a number", req(ofKind(whole, "scoops", true)), "2 enter s", `{"scoops":2}`},
		{"VP-27 the last letter is there", req(text("a", true)), "p l a y ctrl+s s", `{"a":"play"}`},
		{"VP-27 one letter", req(text("a", true)), "x ctrl+s s", `{"a":"x"}`},
		{"TM-10 ctrl+e is the end of the line", req(text("a", true)), "a ctrl+a ctrl+e b enter s", `{"a":"ab"}`},
		{"empty text on request", req(text("a", true)), "ctrl+o enter s", `{"a":""}`},
		{"empty text for an optional field", req(text("a", false)), "ctrl+o ctrl+s s", `{"a":""}`},
		{"leave out a default", req(defaulted(text("a", false), forms.TextValue("x")), text("b", false)), "ctrl+o ctrl+s s", `{}`},
		{"a default with line breaks travels whole", req(defaulted(text("a", false), forms.TextValue("x\ny"))), "enter s", `{"a":"x\ny"}`},
		{"and loses them when edited", req(defaulted(text("a", false), forms.TextValue("x\ny"))), "z enter s", `{"a":"x yz"}`},
		{"an empty default", req(defaulted(text("a", false), forms.TextValue(""))), "enter s", `{"a":""}`},
		{"multi: space takes, enter goes on", req(tags, text("x", false)), "down space down space enter enter s", `{"t":["g","b"]}`},
		{"multi: taken back is left out", req(tags), "space space enter s", `{}`},
		{"multi: an empty list on request", req(tags), "ctrl+o enter s", `{"t":[]}`},
		{"multi: under a filter", req(tags), "g space esc enter s", `{"t":["g"]}`},
		{"multi: the default's order", req(defaulted(tags, forms.ListValue([]string{"b", "r"}))), "enter s", `{"t":["b","r"]}`},
		{"a choice taken back", req(choice("c", false, "a", "b")), "down space ctrl+o ctrl+s s", `{}`},
		{"option values travel, not labels", req(with(choice("c", true), func(f *forms.Field) { f.Options = []forms.Option{{Value: "v\x1b1", Label: "one"}} })), "down enter s", `{"c":"v\u001b1"}`},
		{"no fields", req(), "s", `{}`},
		{"control keys of a shell", req(text("a", true)), "abc ctrl+w de ctrl+a X ctrl+k Y enter s", `{"a":"XY"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drive(t, c.req, 80, 24).keys(c.keys)
			if got := values(t, d.submitted()); got != `{"action":"accept","values":`+c.want+`}` {
				t.Errorf("sent %s, want the values %s", got, c.want)
			}
		})
	}
}

func selectsRequest(n, count int) Request { return Request{Form: selects(n, count)} }

// keys presses what a line of keys says: names of keys, "down*26", and words to type.
func (d *driver) keys(line string) *driver {
	for _, k := range strings.Fields(line) {
		name, times, many := strings.Cut(k, "*")
		n := 1
		if many {
			n = 0
			for _, c := range times {
				n = n*10 + int(c-'0')
			}
		}
		for range n {
			_, named := namedKeys[name]
			if named || strings.HasPrefix(name, "ctrl+") || len([]rune(name)) == 1 {
				d.press(name)
			} else {
				d.typed(name)
			}
		}
	}
	return d
}

// TestRefusedTexts are texts that must stand in the form as wrong, with what to do, and never leave.
func TestRefusedTexts(t *testing.T) {
	num, whole := forms.KindNumber, forms.KindInteger
	format := func(f forms.Format) forms.Field {
		return with(text("a", false), func(fd *forms.Field) { fd.Format = f })
	}
	for _, c := range []struct {
		name  string
		field forms.Field
		typed string
		says  string
	}{
		{"VP-01 trailing letters", ofKind(whole, "n", true), "42xyz", "whole number"},
		{"VP-04 beyond 2^53", ofKind(whole, "n", true), "9007199254740993", "±9007199254740991"},
		{"VP-05 Inf", ofKind(num, "n", true), "Inf", "not a number"},
		{"VP-05 NaN", ofKind(num, "n", false), "NaN", "not a number"},
		{"VP-05 1e400", ofKind(num, "n", true), "1e401", "400"},
		{"VP-20 email", format(forms.FormatEmail), "Bob<a@b.c>", "e-mail"},
		{"VP-20 uri", format(forms.FormatURI), "example.com", "://"},
		{"VP-20 date", format(forms.FormatDate), "2026-02-30", "calendar date"},
		{"VP-20 date-time", format(forms.FormatDateTime), "2026-02-28T10:00:00", "Z"},
		{"VP-21 a lone minus in an optional field", ofKind(num, "n", false), "-", "not a number"},
		{"VP-23 a decimal comma", ofKind(num, "n", true), "1,5", "1.5"},
		{"VP-07 below the minimum", with(ofKind(whole, "n", false), func(f *forms.Field) { f.Minimum = number("1") }), "0", "at least 1"},
		{"too short", with(text("a", false), func(f *forms.Field) { f.MinLength = ptr(3) }), "ab", "at least 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drive(t, req(c.field, text("b", false)), 80, 24).keys(c.typed + " tab")
			d.shows("! ").press("shift+tab").shows(c.typed, c.says) // beside the field, on leaving it
			d.press("ctrl+s", "s").silent().shows("to put right", c.typed, c.says)
			d.press("enter").shows("▌ > " + c.typed) // and back to the field
		})
	}
}

// VP-19: too many choices by default are told, and nothing leaves.
func TestDefaultOverTheLimit(t *testing.T) {
	f := with(ofKind(forms.KindMultiSelect, "t", false), func(f *forms.Field) {
		f.Options, f.MaxItems, f.Default = options("r", "g", "b"), ptr(1), forms.ListValue([]string{"r", "g"})
	})
	d := drive(t, req(f), 80, 24).press("enter").shows("at most 1 choice").press("s").silent()
	d.press("e", "space", "enter", "s")
	if got := values(t, d.submitted()); got != `{"action":"accept","values":{"t":["g"]}}` {
		t.Error(got)
	}
}

// FX-02: the cursor starts on no row of a required select, and enter there does nothing.
func TestNoChoiceByMoving(t *testing.T) {
	d := drive(t, req(choice("c", true, "a", "b"), text("x", false)), 80, 24)
	d.press("enter").shows("▌   ( ) a", "no row is chosen").press("down", "tab", "ctrl+s").shows("C: (no answer yet)").press("s").silent()
}

// FX-04: options of the focused field are there without a key.
func TestOptionsAreVisible(t *testing.T) {
	drive(t, req(choice("layout", false, "grid", "list", "map")), 40, 12).shows("grid", "list", "map", "> (•) (leave out)")
}

// FX-07 and FX-18: a message of forty lines leaves the keys and the field in sight, and can be read in full.
func TestLongMessage(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, "line "+itoa(i+1)+" of the payload")
	}
	r := Request{Form: form(strings.Join(lines, "\n"), text("a", true), text("b", true), text("c", true), text("d", true), text("e", true), text("f", true))}
	d := drive(t, r, 80, 15).shows("line 1 of", "▌ A (required", "ctrl+s review", "ctrl+g").hides("line 40 of")
	d.press("ctrl+g").shows("line 1 of", "! Never enter").press("pgdown", "pgdown", "pgdown").shows("line 40 of")
	d.press("esc").shows("▌ A (required")
	one := drive(t, Request{Form: form(strings.Join(lines, "\n"))}, 80, 15).shows("s submit", "ctrl+g")
	one.press("ctrl+g", "end").shows("line 40 of")
}

// FX-15: esc asks once, y dismisses, and nothing else does.
func TestDismissAndDecline(t *testing.T) {
	for _, c := range []struct {
		key    string
		action forms.Action
		asks   string
	}{{"esc", forms.ActionCancel, "Dismiss this form"}, {"ctrl+x", forms.ActionDecline, "Decline, and tell the server no"}} {
		for i, r := range []Request{{Form: deployForm()}, req(ofKind(forms.KindBoolean, "b", true)), req()} {
			d := drive(t, r, 80, 24).press(c.key).shows(c.asks)
			for _, other := range []string{"enter", "n", "esc"} {
				d.press(other).silent().hides(c.asks).press(c.key)
			}
			d.press("x", "s", "d", "space").paste("y").silent().shows(c.asks)
			d.wait(kit.Pause).shows("y or n").press([]string{"y", "Y", "ctrl+y"}[i])
			if got := d.submitted(); got.Action != c.action || got.Values != nil {
				t.Errorf("%s sent %v", c.key, got)
			}
			d.shows("Waiting for the Host")
		}
	}
}

// FX-15: the first esc leaves a filter, and says so.
func TestEscLeavesTheFilterFirst(t *testing.T) {
	d := drive(t, selectsRequest(2, 30), 80, 24).keys("25").shows("filter: 25", "esc clears the filter").press("esc")
	d.hides("filter:", "Dismiss").shows("type to filter").press("esc").shows("Dismiss this form")
}

// FX-17: a second form of the same call starts from the last answers, says so, and never does it for a secret.
func TestAskedAgain(t *testing.T) {
	first := form("Where?", text("host", true), ofKind(forms.KindInteger, "port", true),
		with(text("api_key", true), func(f *forms.Field) { f.Label = "API key" }), text("zone", true))
	earlier := draft.Answers{}
	earlier.Remember(first, forms.Values{"host": forms.TextValue("web-7"), "port": numberValue("80"), "api_key": forms.TextValue("hunter2"), "zone": forms.TextValue("a")})
	again := first
	again.Message = "Port in use."
	again.Fields = append([]forms.Field{}, first.Fields...)
	again.Fields[3] = choice("zone", true, "a", "b") // another kind: not the same question
	d := drive(t, Request{Form: again, Earlier: earlier}, 80, 24)
	d.shows("Port in use.", "web-7", "80  your last answer", "your last answers", "API key (required): (no answer yet)", "ZONE (required): (no answer yet)").hides("hunter2")
	drive(t, Request{Form: again}, 80, 24).hides("web-7", "hunter2", "last answer")
}

// TM-04: a paste without markers types into the field it began in, and submits nothing. Its inner enters come as line
// feeds, which the terminal's reader makes of them; the last one is an enter like any other.
func TestUnmarkedPaste(t *testing.T) {
	d := drive(t, req(text("a", true), ofKind(forms.KindBoolean, "sure", true)), 80, 24)
	for _, k := range []string{"prod", "ctrl+j", "yes", "enter"} {
		d.send(keyMsg(k)).wait(time.Millisecond)
	}
	d.silent().shows("field 2 of 2", "no answer yet").hides("Yes, ")
	d.press("shift+tab").shows("> prod yes")
	d = drive(t, req(text("a", true), text("b", false)), 80, 24)
	for _, k := range []string{"host", "ctrl+j", "port", "ctrl+j", "ctrl+j", "name", "ctrl+j"} {
		d.send(keyMsg(k)).wait(time.Millisecond)
	}
	d.silent().shows("> host port name", "line breaks become spaces", "field 1 of 2").press("ctrl+s", "s")
	if got := d.submitted().Values["a"].Text(); got != "host port name" {
		t.Errorf("%q", got)
	}
	drive(t, req(text("a", true), text("b", false)), 80, 24).typed("x").press("ctrl+j", "y").shows("> x y", "line breaks became spaces")
}

// TM-09: the enter that confirms what an input method composed is not meant for the form; one after ASCII that came at
// once, as another program types, is.
func TestComposedEnter(t *testing.T) {
	d := drive(t, req(text("a", true), text("b", true)), 80, 24)
	d.send(keyMsg("日本")).wait(time.Millisecond).send(keyMsg("enter"))
	d.silent().shows("▌ > 日本", "enter right after composed text", "field 1 of 2")
	d.wait(imePause).send(keyMsg("enter")).shows("field 2 of 2")
	d.send(keyMsg("plain")).wait(time.Millisecond).send(keyMsg("enter")).shows("review: nothing is sent yet")
}

// TM-04: a marked paste goes into the focused field; its line breaks become blanks, and that is said.
func TestMarkedPaste(t *testing.T) {
	d := drive(t, req(text("a", true), text("b", false)), 80, 24).paste("one\r\ntwo\nthree\n").shows("> one two three", "line breaks became spaces", "field 1 of 2")
	d.paste(" x\u202e\u200by").shows("hidden characters were left out").press("ctrl+s", "s")
	if got := d.submitted().Values["a"].Text(); got != "one two three xy" {
		t.Errorf("%q", got)
	}
	list := drive(t, req(choice("c", true, "a", "b"), text("x", false)), 80, 24).paste("a\n").shows("a paste chooses nothing", "▌   ( ) a")
	list.press("ctrl+s").paste("s").silent()
	one := drive(t, req(ofKind(forms.KindBoolean, "b", true)), 80, 24).paste("y").silent().shows("no answer yet")
	one.press("y").paste("s").silent()
}

func TestHugePaste(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).paste(strings.Repeat("x", 100_000)).shows("cut at 16384 characters")
	d.paste("yyy").press("ctrl+s").shows("at most 256 characters, has 16384").press("s").silent()
}

// TM-09: text of an input method arrives at once with the enter that confirmed it; that enter moves nothing.
func TestInputMethod(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24)
	d.send(keyMsg("日本語")).wait(10 * time.Millisecond).send(keyMsg("enter"))
	d.silent().shows("▌ > 日本語", "field 1 of 1")
	d.wait(100*time.Millisecond).press("enter", "s")
	if got := d.submitted().Values["a"].Text(); got != "日本語" {
		t.Errorf("%q", got)
	}
}

// Keys that arrive while a screen opens decide nothing.
func TestGuards(t *testing.T) {
	d := drive(t, req(ofKind(forms.KindBoolean, "b", true)), 80, 24)
	d.m.Show()
	d.send(keyMsg("y")).send(keyMsg("s")).silent().shows("no answer yet")
	d = drive(t, req(text("a", true)), 80, 24).typed("x").send(keyMsg("ctrl+s")).wait(kit.Pause - time.Millisecond).send(keyMsg("s"))
	d.silent().wait(time.Millisecond).send(keyMsg("s")).silent().shows(kit.Ignoring).wait(kit.Pause).hides(kit.Ignoring).send(keyMsg("s"))
	d.submitted()
	d = drive(t, req(text("a", true)), 80, 24).send(keyMsg("esc")).wait(kit.Pause - time.Millisecond).send(keyMsg("y"))
	d.silent().wait(time.Millisecond).send(keyMsg("y")).silent().wait(kit.Pause).send(keyMsg("y"))
	d.submitted()
	d = drive(t, req(text("a", true)), 80, 24)
	d.m.Closed("the provider was lost")
	d.send(keyMsg("enter")).silent().wait(kit.Pause).send(keyMsg("enter"))
	if len(d.acts) != 1 || d.acts[0] != (Close{"i1"}) {
		t.Errorf("%#v", d.acts)
	}
}

// speed is how fast somebody types.
const speed = 100 * time.Millisecond

// going types on, as somebody does who has not looked at the screen.
func (d *driver) going(s string) *driver {
	for _, r := range s {
		k := keyMsg(string(r))
		switch r {
		case ' ':
			k = keyMsg("space")
		case '\n':
			k = keyMsg("enter")
		}
		d.send(k).wait(speed)
	}
	return d
}

// deciding are the screens on which a letter decides.
func deciding(t *testing.T) map[string]func() *driver {
	one := ofKind(forms.KindBoolean, "b", true)
	return map[string]func() *driver{
		"a form without fields": func() *driver { return drive(t, req(), 80, 24) },
		"a lone boolean":        func() *driver { return drive(t, req(one), 80, 24) },
		"one with a default":    func() *driver { return drive(t, req(defaulted(one, forms.BoolValue(true))), 80, 24) },
		"a review": func() *driver {
			return drive(t, req(text("a", false), one), 80, 24).keys("tab y ctrl+s").wait(kit.Pause)
		},
		"a long review": func() *driver {
			return drive(t, Request{Form: manyFields(32)}, 80, 24).keys("ctrl+s").wait(kit.Pause)
		},
		"a question": func() *driver { return drive(t, req(text("a", true)), 80, 24).press("ctrl+x").wait(kit.Pause) },
	}
}

// A form that opens while somebody types takes nothing of it, however long that goes on: only a pause ends it.
func TestTypingOnDecidesNothing(t *testing.T) {
	for name, open := range deciding(t) {
		d := open()
		d.m.Show()
		d.going("meanwhile this is my yes, yes, s y s y").silent().shows(kit.Ignoring)
		if d.wait(kit.Pause).hides(kit.Ignoring).m.Guarded() {
			t.Errorf("%s: deaf after a pause", name)
		}
	}
	held := drive(t, req(), 80, 24)
	held.m.Show()
	for range 100 {
		held.send(keyMsg("s")).wait(30 * time.Millisecond)
	}
	held.silent().wait(kit.Pause).send(keyMsg("s")).submitted()
}

// Somebody who pauses before the form opens and types on after it writes a word, whose letters decide nothing behind the
// first that means nothing here; nor does one behind a blank.
func TestWordsDecideNothing(t *testing.T) {
	for name, open := range deciding(t) {
		for _, word := range []string{"this", "boys", "as", " s", " y s", "pasted"} {
			d := open().going(word)
			if len(d.acts) > 0 {
				t.Errorf("%s: %q did %#v", name, word, d.acts)
			}
		}
		if d := open().paste("x").send(keyMsg("s")).send(keyMsg("y")); len(d.acts) > 0 {
			t.Errorf("%s: behind a paste %#v left", name, d.acts)
		}
	}
}

// What lay over a screen on which a letter decides leaves it deaf for a moment.
func TestGoingBackIsGuarded(t *testing.T) {
	for _, over := range []string{"ctrl+x", "ctrl+g"} {
		d := drive(t, req(), 80, 24).press(over).wait(kit.Pause)
		d.send(keyMsg("esc")).send(keyMsg("s")).silent().wait(kit.Pause).send(keyMsg("s")).submitted()
	}
}

// Caps lock is no reason to say nothing.
func TestCapsLock(t *testing.T) {
	drive(t, req(text("a", false)), 80, 24).press("ctrl+s", "S").submitted()
	drive(t, req(ofKind(forms.KindBoolean, "b", true)), 80, 24).press("N", "S").submitted()
	d := drive(t, req(text("a", false)), 80, 24).press("ctrl+x", "N").silent().shows("▌ A")
	d.press("ctrl+s", "E").shows("▌ A")
}

// A form that ends while somebody types in it keeps what was typed: the keys of a text close and copy nothing.
func TestClosedFormKeepsWhatWasTyped(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("mine")
	d.m.Closed("the provider was lost")
	d.going("quick brown cat\nquite cc").silent().shows("A: mine", kit.Ignoring)
	d.wait(kit.Pause).going("\n").silent().shows("esc closes it").going("quick cat").silent()
	d.wait(kit.Pause).send(keyMsg("ctrl+f"))
	if d.shows("A: mine", "ctrl+f"); len(d.acts) != 1 || d.acts[0] != (Leave{"i1"}) {
		t.Errorf("%#v", d.acts)
	}
	if d.press("C", "esc"); len(d.acts) != 3 || d.acts[1] != (Copy{"i1", "A: mine"}) || d.acts[2] != (Close{"i1"}) {
		t.Errorf("%#v", d.acts)
	}
}

// A form that opens ignores what was typed for something else.
func TestOpensDeaf(t *testing.T) {
	now := time.Unix(0, 0)
	m := New(Request{ID: "x", Form: form("Go?")}, Options{Theme: plainTheme(), Now: func() time.Time { return now }})
	if a := m.Update(keyMsg("s")); a != nil {
		t.Fatalf("%#v", a)
	}
	now = now.Add(kit.Pause)
	if a := m.Update(keyMsg("s")); a == nil {
		t.Fatal("deaf for ever")
	}
}

// A review longer than the window is scrolled through before anything leaves.
func TestReviewIsSeenToTheEnd(t *testing.T) {
	f := manyFields(32)
	for i := range f.Fields {
		f.Fields[i].Required = false
	}
	d := drive(t, Request{Form: f}, 40, 12).press("ctrl+s")
	presses := 0
	for ; len(d.acts) == 0 && presses < 20; presses++ {
		d.press("s")
	}
	if presses < 4 {
		t.Errorf("sent after %d presses of s:\n%s", presses, d.view())
	}
	d.submitted()
	held := drive(t, Request{Form: f}, 40, 12).press("ctrl+s").wait(kit.Pause)
	for range 20 { // a key that is held down
		held.send(keyMsg("s")).wait(30 * time.Millisecond)
	}
	if len(held.acts) != 0 {
		t.Error("a key held down submitted")
	}
}

// SE-01: nothing that a server, or the person's own paste, writes reaches the terminal as a control or leaves its rows.
func TestHostileText(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}} {
		d := drive(t, Request{Form: hostileForm()}, size[0], size[1])
		check := func() {
			t.Helper()
			for i, row := range strings.Split(d.view(), "\n") {
				for _, r := range row {
					if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b || r == 0x2066 {
						t.Errorf("%v: row %d holds %U: %q", size, i, r, row)
					}
				}
				for _, forged := range []string{"! No passwords needed", "! all is well", "field 1 of 1", "> (•) Yes"} {
					if strings.HasPrefix(row, forged) || i == d.h-1 && strings.Contains(row, "PWN") {
						t.Errorf("%v: row %d is forged: %q", size, i, row)
					}
				}
			}
		}
		check()
		d.press("ctrl+g")
		check()
		d.press("esc", "tab")
		check()
		d.shows("(leave out) #2") // the server's own, beside ours
		d.press("down", "space", "ctrl+s")
		check()
		d.shows(`(leave out)`)
		d.press("esc", "ctrl+x")
		check()
	}
}

// An option that reads like our words for an answer that is missing is quoted where it is one.
func TestForgedWords(t *testing.T) {
	d := drive(t, req(choice("c", false, "(left out)", "b"), text("x", false)), 80, 24).press("down", "enter").typed(" (left out)").press("ctrl+s")
	d.shows(`C: "(left out)"`, `X: " (left out)"`)
}

// SE-03: a field that looks like a secret makes the warning loud and is named; the person still decides.
func TestSecrets(t *testing.T) {
	key := with(text("api_key", true), func(f *forms.Field) { f.Label = "API \"key\" of the production account in the other region" })
	for _, size := range [][2]int{{40, 12}, {80, 24}, {200, 60}} {
		d := drive(t, req(text("a", false), key), size[0], size[1])
		rows := strings.Split(d.view(), "\n")
		if !strings.HasPrefix(rows[1], "!! ") || !strings.HasPrefix(rows[2], `!! "API 'key' `) || !strings.Contains(rows[2], "secret") {
			t.Errorf("%v: not loud:\n%s", size, d.view())
		}
		d.press("tab").typed("abc").press("enter", "s")
		if got := d.submitted().Values["api_key"].Text(); got != "abc" {
			t.Error(got)
		}
	}
	drive(t, req(text("a", false), text("password", false), key), 80, 24).shows("and 1 more look like secrets")
	drive(t, Request{Form: form("See https://x.example/y for more.", text("a", false))}, 40, 12).shows("! the text holds a link")
}

// SE-03: the warning names one field; each of several bears its mark, in the form and on the review.
func TestEachSecretIsMarked(t *testing.T) {
	f := req(text("password", true), text("user", false), text("api_key", false))
	for _, size := range [][2]int{{40, 12}, {80, 24}} {
		d := drive(t, f, size[0], size[1]).shows("▌ !! PASSWORD", "│ USER", "│ !! API_KEY").press("tab").shows("│ ! !! PASSWORD")
		d.press("tab").shows("▌ !! API_KEY").press("ctrl+s").shows("!! PASSWORD: ", "!! API_KEY: ", "│ USER: ")
	}
}

// "All text" is that of all fields, the one at hand first.
func TestDetailHoldsEveryField(t *testing.T) {
	f := everyKind()
	d := drive(t, Request{Form: f}, 200, 60).press("tab", "ctrl+g")
	var shown strings.Builder
	for range 20 {
		shown.WriteString(d.view())
		d.press("pgdown")
	}
	if at := strings.Index(shown.String(), "│ "+f.Fields[0].Label); at < strings.Index(shown.String(), "│ "+f.Fields[1].Label) {
		t.Error("the focused field is not the first")
	}
	for _, f := range f.Fields {
		if !strings.Contains(shown.String(), forms.Line(f.Label)) || f.Description != "" && !strings.Contains(shown.String(), forms.Line(f.Description)) {
			t.Errorf("%s is not told in full", f.Name)
		}
	}
}

// Beside a word of ours the status row still says which key acts.
func TestStatusRowLeavesRoom(t *testing.T) {
	many := with(ofKind(forms.KindMultiSelect, "t", false), func(f *forms.Field) { f.Options = options("red", "green") })
	for _, c := range []struct {
		field forms.Field
		says  string
	}{{many, "space takes"}, {choice("c", true, "a", "b"), "enter takes"}, {text("a", true), "enter next"}} {
		d := drive(t, req(c.field, text("z", false)), 40, 12)
		d.m.Aside(8)
		if d.shows(c.says); cells(strings.TrimRight(d.m.statusRow(), " ")) > 40-8 {
			t.Errorf("no room is left in %q", d.m.statusRow())
		}
	}
}

// TM-12: under NO_COLOR the choice, the cursor and what is wrong are told by marks.
func TestMarksWithoutColour(t *testing.T) {
	d := drive(t, Request{Form: deployForm()}, 80, 24).press("down", "space").shows("▌ > (•) staging", "▌   ( ) production")
	d.press("tab", "tab", "shift+tab", "shift+tab").shows("│ ! Confirm (required): (no answer yet)")
	ascii := driveWith(t, Request{Form: deployForm()}, 80, 24, plainTheme().WithASCII()).press("down", "space")
	ascii.shows("# > (x) staging", "| Confirm (required)", "ctrl+s review - ctrl+x decline")
	for _, r := range ascii.view() {
		if r >= 0x80 && r != '·' { // the requester's own
			t.Errorf("%q in a form for an ASCII terminal", r)
		}
	}
}

// HL-11: an answer that was not stored is said, and the draft is still there.
func TestRefused(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("x").press("enter", "s").shows("Sending your answer")
	d.m.Refused("\"a\": must be longer\x1b[2J")
	d.shows("not sent:", "must be longer", "A: x", "s submit").press("s")
	if len(d.acts) != 2 {
		t.Errorf("%#v", d.acts)
	}
}

func TestAnsweredElsewhere(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("mine")
	if d.m.Answered(forms.Accept(forms.Values{"a": forms.TextValue("theirs")})) {
		t.Error("taken for ours")
	}
	d.shows("Answered elsewhere: accepted", "│ A: theirs", "What you typed, for copying", "│ A: mine", "c copy").press("c")
	if len(d.acts) != 1 || d.acts[0] != (Copy{"i1", "A: mine"}) {
		t.Errorf("%#v", d.acts)
	}
	ours := drive(t, req(text("a", true)), 80, 24).typed("mine").press("enter", "s")
	if !ours.m.Answered(forms.Accept(forms.Values{"a": forms.TextValue("mine")})) {
		t.Error("not taken for ours")
	}
}

func TestClosures(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("mine")
	d.m.Closed("The Turn was stopped.")
	d.shows("Closed without an answer:", "│ The Turn was stopped.", "│ A: mine")
	untouched := drive(t, req(defaulted(text("a", true), forms.TextValue("x"))), 80, 24)
	untouched.m.Closed("The Turn was stopped.")
	untouched.hides("for copying").press("c").silent()
}

// A lost connection keeps the draft and sends nothing.
func TestReconnecting(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("x")
	d.m.Connection(Reconnecting)
	d.shows("reconnecting").typed("y").press("enter", "s").silent().shows("no connection")
	d.press("ctrl+x", "y").silent().press("n")
	d.m.Connection(Connected)
	d.hides("reconnecting")
	d.m.Connection(NotConnected)
	d.shows("not connected").press("s").silent()
	d.m.Connection(Connected)
	d.hides("not connected").press("s")
	if got := d.submitted().Values["a"].Text(); got != "xy" {
		t.Error(got)
	}
	one := drive(t, req(ofKind(forms.KindBoolean, "b", true)), 80, 24).press("y")
	one.m.Connection(Reconnecting)
	one.press("s").silent().shows("no connection")
	one.m.Connection(Connected)
	one.press("s").submitted()
}

// ctrl+f leaves from every stage and keeps the draft.
func TestLeave(t *testing.T) {
	for _, keys := range []string{"x ctrl+f", "x ctrl+s ctrl+f", "x ctrl+x ctrl+f", "x ctrl+g ctrl+f", "x ctrl+s s ctrl+f"} {
		d := drive(t, req(text("a", true), text("b", false)), 80, 24).keys(keys)
		if len(d.acts) == 0 || d.acts[len(d.acts)-1] != (Leave{"i1"}) {
			t.Errorf("%s: %#v", keys, d.acts)
		}
		if d.m.draft.Fields[0].Text() != "x" {
			t.Errorf("%s: the draft is gone", keys)
		}
	}
}

// A form for the arguments of a call: nobody to decline to, and esc leaves.
func TestArguments(t *testing.T) {
	d := drive(t, Request{Form: deployForm(), Arguments: true}, 80, 24).shows("arguments · deploy", "esc leave").hides("decline", "dismiss")
	d.press("ctrl+x").silent().press("esc")
	if len(d.acts) != 1 || d.acts[0] != (Leave{"i1"}) {
		t.Errorf("%#v", d.acts)
	}
	drive(t, Request{Form: form("No arguments."), Arguments: true}, 80, 24).shows("takes no arguments", "s call").press("s").submitted()
}

func TestTooSmall(t *testing.T) {
	d := drive(t, req(text("a", true)), 80, 24).typed("x")
	d.m.Resize(39, 12)
	d.typed("y").press("ctrl+s", "s", "ctrl+f").silent()
	if v := d.view(); !strings.Contains(v, "too small") {
		t.Errorf("%q", v)
	}
	d.m.Resize(40, 12)
	d.shows("▌ > x").hides("> xy")
}

// The last row names ctrl+o and ctrl+r where they change the focused field, with what they do, and nowhere else.
func TestFieldKeysAreToldWhereTheyAct(t *testing.T) {
	touch := map[forms.Kind]string{forms.KindString: "x", forms.KindInteger: "1", forms.KindNumber: "1", forms.KindBoolean: "n"}
	for _, f := range everyKind().Fields {
		for _, r := range []Request{req(f, text("z", false)), req(with(f, func(f *forms.Field) { f.Required = !f.Required }), text("z", false)), req(f)} {
			for _, before := range []string{"", "down space", touch[f.Kind], "ctrl+o", "ctrl+o ctrl+o", touch[f.Kind] + " ctrl+o"} {
				for key, names := range map[string][]string{"ctrl+o": {"ctrl+o leave out", "ctrl+o clear", "ctrl+o send empty"}, "ctrl+r": {"ctrl+r default"}} {
					d := drive(t, r, 120, 24).keys(before)
					if d.m.idx != 0 {
						continue // down leaves a text field
					}
					told := strings.Contains(d.m.keysRow(), key)
					was := d.m.current().d.Summary() + d.m.current().d.Mark()
					if key == "ctrl+r" {
						was = d.m.current().d.Mark()
					}
					touched := d.m.Touched()
					named := slices.ContainsFunc(names, func(s string) bool { return strings.Contains(d.m.keysRow(), s) })
					d.press(key)
					is := d.m.current().d.Summary() + d.m.current().d.Mark()
					if key == "ctrl+r" {
						is = d.m.current().d.Mark()
					}
					if told != (was != is) || told != named || !told && touched != d.m.Touched() {
						t.Errorf("%s, required %v, after %q: %s is told: %v, in words: %v; it made %q of %q", f.Name, r.Form.Fields[0].Required, before, key, told, named, is, was)
					}
				}
			}
		}
	}
}

// What was typed where there is no default stays, and the answer of the round before is called that.
func TestResetWithoutDefault(t *testing.T) {
	drive(t, req(text("a", false), text("b", false)), 80, 24).typed("kept").press("ctrl+r").shows("> kept", "this field has no default")
	drive(t, req(choice("c", true, "a", "b"), text("b", false)), 80, 24).press("ctrl+o").shows("nothing to leave out")
	earlier := draft.Answers{"a": {Kind: forms.KindString, Value: forms.TextValue("web-7")}}
	d := drive(t, Request{Form: form("Again?", text("a", true), text("b", true)), Earlier: earlier}, 80, 24)
	d.hides("ctrl+r").typed("x").shows("ctrl+r as before").press("ctrl+r").shows("> web-7", "your last answer")
}

// A filter that leaves no row offers nothing to take, and a list of several is marked with space.
func TestFilterTellsWhatTakes(t *testing.T) {
	many := with(ofKind(forms.KindMultiSelect, "t", false), func(f *forms.Field) { f.Options = options("red", "green") })
	drive(t, req(many, text("b", false)), 80, 24).keys("r e d").shows("filter: red", "space take").hides("enter take").press("x").hides(" take")
	drive(t, req(choice("c", true, "red", "green"), text("b", false)), 80, 24).press("r").shows("enter take").press("x").hides("enter take")
}

// Labels with commas in them are not taken for several choices.
func TestListedLabels(t *testing.T) {
	f := with(ofKind(forms.KindMultiSelect, "t", false), func(f *forms.Field) { f.Options = options("a, b", "a", "b") })
	drive(t, req(f), 80, 24).keys("space ctrl+s").shows(`T: "a, b"`)
	drive(t, req(f), 80, 24).keys("down space down space ctrl+s").shows(`T: a, b`)
}

// FX-10: what is wrong is told beside a long text as well, at every width.
func TestWrongBesideALongText(t *testing.T) {
	f := with(text("a", true), func(f *forms.Field) { f.MaxLength = ptr(10) })
	for _, w := range []int{40, 60, 80, 200} {
		drive(t, req(f, text("b", false)), w, 12).typed(strings.Repeat("y", 300)).press("tab").shows("! A", "yy", "at most")
	}
}

// SE-03 and SE-05: secrets and a link are both told at the smallest size, however many fields ask.
func TestNoticesFit(t *testing.T) {
	for n := 1; n <= 32; n++ {
		var fields []forms.Field
		for i := range n {
			fields = append(fields, with(text("api_key_"+itoa(i), true), func(f *forms.Field) { f.Label = "The API key number " + itoa(i) }))
		}
		d := drive(t, Request{Form: form("See https://example.org/", fields...)}, 40, 12).shows(`!! "The`, "has a link", "secret")
		if d.hides("secre…", "lin…"); n > 1 {
			d.shows("+" + itoa(n-1) + " look secret")
		}
	}
}

// On the review enter edits the field that was chosen there, and the last row says so.
func TestReviewEditsTheChosenField(t *testing.T) {
	d := drive(t, req(text("a", false), text("b", false), text("c", false)), 80, 24).press("ctrl+s").shows("e edit").press("tab", "tab")
	d.shows("enter edit this field").hides("e edit ").press("enter").shows("field 3 of 3")
}

// What was typed is offered after a closure; a default of the server's was not.
func TestDefaultsWereNotTyped(t *testing.T) {
	d := drive(t, req(text("a", true), defaulted(text("b", false), forms.TextValue("theirs"))), 80, 24).typed("mine")
	d.m.Closed("it is over")
	d.shows("What you typed", "A: mine").hides("theirs")
}
