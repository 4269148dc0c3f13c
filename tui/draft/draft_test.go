package draft

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"askback/forms"
)

func ptr[T any](v T) *T { return &v }

func number(s string) forms.Number {
	n, err := forms.ParseNumber(s)
	if err != nil {
		panic(err)
	}
	return n
}

func one(f forms.Field) *Field {
	if f.Name == "" {
		f.Name = "f"
	}
	if f.Label == "" {
		f.Label = "F"
	}
	return New(forms.Form{Message: "m", Requester: forms.Requester{Name: "t"}, Fields: []forms.Field{f}}, nil).Fields[0]
}

func options(values ...string) []forms.Option {
	var out []forms.Option
	for _, v := range values {
		out = append(out, forms.Option{Value: v, Label: strings.ToUpper(v)})
	}
	return out
}

var kinds = []forms.Field{
	{Kind: forms.KindString}, {Kind: forms.KindNumber}, {Kind: forms.KindInteger}, {Kind: forms.KindBoolean},
	{Kind: forms.KindSingleSelect, Options: options("a", "b")}, {Kind: forms.KindMultiSelect, Options: options("a", "b")},
}

// A field without a default has no answer, whatever its kind: nothing is sent that nobody gave.
func TestUntouched(t *testing.T) {
	for _, f := range kinds {
		for _, required := range []bool{false, true} {
			f.Required = required
			d := one(f)
			v, present := d.Value()
			wrong := d.Wrong()
			if present || required != (wrong != "") {
				t.Errorf("%s, required %v: sends %v (%v), wrong %q", f.Kind, required, v, present, wrong)
			}
			if want := map[bool]string{false: LeftOut, true: NoAnswer}[required]; d.Summary() != want {
				t.Errorf("%s: %q", f.Kind, d.Summary())
			}
		}
	}
}

// Zero, false, the empty text and the empty list are answers, told apart from none.
func TestZeroValues(t *testing.T) {
	for i, f := range kinds {
		d := one(f)
		switch f.Kind {
		case forms.KindString, forms.KindMultiSelect:
			if !d.SendEmpty() {
				t.Errorf("%s cannot be sent empty", f.Kind)
			}
		case forms.KindNumber, forms.KindInteger:
			d.SetText("0")
		case forms.KindBoolean:
			d.Choose(No)
		default:
			continue
		}
		v, present := d.Value()
		if !present || d.Wrong() != "" || d.Summary() == LeftOut {
			t.Errorf("%d %s: %v %v %q %q", i, f.Kind, v, present, d.Wrong(), d.Summary())
		}
		d.Clear()
		if _, present := d.Value(); present {
			t.Errorf("%s is sent after Clear", f.Kind)
		}
	}
}

func TestToggleEmpty(t *testing.T) {
	d := one(forms.Field{Kind: forms.KindString, Default: forms.TextValue("x")})
	for i, want := range []string{LeftOut, EmptyText, LeftOut, EmptyText} {
		if d.ToggleEmpty(); d.Summary() != want {
			t.Errorf("after %d: %q, want %q", i+1, d.Summary(), want)
		}
	}
	d.Reset()
	if d.Summary() != "x" || d.Mark() != "default" {
		t.Errorf("%q %q", d.Summary(), d.Mark())
	}
	for _, f := range []forms.Field{{Kind: forms.KindString, Format: forms.FormatEmail}, {Kind: forms.KindString, MinLength: ptr(1)},
		{Kind: forms.KindInteger}, {Kind: forms.KindMultiSelect, Options: options("a"), MinItems: ptr(1)}} {
		d := one(f)
		d.ToggleEmpty()
		d.ToggleEmpty()
		if _, present := d.Value(); present || d.SendEmpty() {
			t.Errorf("%+v is sent empty", f)
		}
	}
}

// What came with the form leaves as it came, also where a list has another order than its options.
func TestDefaultsTravel(t *testing.T) {
	for _, c := range []struct {
		f    forms.Field
		want string
		says string
	}{
		{forms.Field{Kind: forms.KindString, Default: forms.TextValue("a\nb")}, `"a\nb"`, "a\nb"},
		{forms.Field{Kind: forms.KindString, Default: forms.TextValue("")}, `""`, EmptyText},
		{forms.Field{Kind: forms.KindNumber, Default: forms.NumberValue(number("1.50"))}, "1.50", "1.50"},
		{forms.Field{Kind: forms.KindInteger, Default: forms.NumberValue(number("1e3"))}, "1000", "1000"},
		{forms.Field{Kind: forms.KindInteger, Default: forms.NumberValue(number("-0"))}, "0", "0"},
		{forms.Field{Kind: forms.KindBoolean, Default: forms.BoolValue(false)}, "false", "No"},
		{forms.Field{Kind: forms.KindSingleSelect, Options: options("a", "b"), Default: forms.TextValue("b")}, `"b"`, "B"},
		{forms.Field{Kind: forms.KindMultiSelect, Options: options("a", "b"), Default: forms.ListValue([]string{"b", "a"})}, `["b","a"]`, "B, A"},
		{forms.Field{Kind: forms.KindMultiSelect, Options: options("a", "b"), Default: forms.ListValue(nil)}, `[]`, EmptyList},
	} {
		d := one(c.f)
		v, present := d.Value()
		if b, _ := v.MarshalJSON(); string(b) != c.want || !present || d.Summary() != c.says || d.From() != Default {
			t.Errorf("%s: sends %s (%v), says %q; want %s, %q", c.f.Kind, b, present, d.Summary(), c.want, c.says)
		}
		if d.Summary() != d.Words(v) {
			t.Errorf("%s: %q and %q", c.f.Kind, d.Summary(), d.Words(v))
		}
	}
}

// A default that is none of the options is no answer, and does not become another one.
func TestStrangeDefault(t *testing.T) {
	for _, f := range []forms.Field{
		{Kind: forms.KindSingleSelect, Options: options("a", "b"), Default: forms.TextValue("c")},
		{Kind: forms.KindMultiSelect, Options: options("a"), Default: forms.ListValue([]string{"a", "c"})},
		{Kind: forms.KindInteger, Default: forms.TextValue("3")},
		{Kind: forms.KindString, Default: forms.BoolValue(true)},
	} {
		if d := one(f); d.From() != Nothing || d.Summary() != LeftOut {
			t.Errorf("%+v: %q", f, d.Summary())
		}
	}
}

// Answers are remembered by name and kind, forgotten when left out, and never for what looks like a secret.
func TestRemember(t *testing.T) {
	form := forms.Form{Message: "m", Requester: forms.Requester{Name: "t"}, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "host", Label: "Host"},
		{Kind: forms.KindString, Name: "x", Label: "Password"},
		{Kind: forms.KindString, Name: "note", Label: "Note", Default: forms.TextValue("d")},
	}}
	a := Answers{}
	a.Remember(form, forms.Values{"host": forms.TextValue("h"), "x": forms.TextValue("hunter2"), "note": forms.TextValue("n")})
	if d := New(form, a); d.Fields[0].Text() != "h" || d.Fields[1].Text() != "" || d.Fields[2].Mark() != "your last answer" || !d.FromEarlier() {
		t.Errorf("%q %q %q", d.Fields[0].Text(), d.Fields[1].Text(), d.Fields[2].Mark())
	}
	plain := form
	plain.Fields = []forms.Field{{Kind: forms.KindString, Name: "x", Label: "X"}}
	if New(plain, a).Fields[0].Text() != "" {
		t.Error("what was typed into a secret came back in another field")
	}
	a.Remember(form, forms.Values{"host": forms.TextValue("h2")})
	if d := New(form, a); d.Fields[0].Text() != "h2" || d.Fields[2].Mark() != "default" {
		t.Error("a field that was left out is still remembered")
	}
	// The same name, now asking for a secret, or for another kind.
	form.Fields[0].Label = "API key"
	if New(form, a).Fields[0].Text() != "" {
		t.Error("an earlier answer went into a secret")
	}
	form.Fields[0] = forms.Field{Kind: forms.KindSingleSelect, Name: "host", Label: "Host", Options: options("h2")}
	if New(form, a).Fields[0].Choice() != None {
		t.Error("an answer went into a field of another kind")
	}
	a = Answers{"host": {Kind: forms.KindSingleSelect, Value: forms.TextValue("gone")}}
	if New(form, a).Fields[0].Choice() != None {
		t.Error("an option that is gone was chosen")
	}
	if New(form, nil).FromEarlier() {
		t.Error("an answer from nowhere")
	}
}

// What will be sent is said where the value does not show it.
func TestState(t *testing.T) {
	str, list := forms.Field{Kind: forms.KindString}, forms.Field{Kind: forms.KindMultiSelect, Options: options("a")}
	need := func(f forms.Field) forms.Field { f.Required = true; return f }
	for _, c := range []struct {
		f    forms.Field
		do   func(*Field)
		want string
	}{
		{str, nil, "left out (KEY sends it empty)"},
		{need(str), nil, "no answer yet (KEY sends it empty)"},
		{str, (*Field).ToggleEmpty, "sends empty text (KEY leaves it out)"},
		{need(str), (*Field).ToggleEmpty, "sends empty text (KEY takes it back)"},
		{list, nil, "left out (KEY sends an empty list)"},
		{list, (*Field).ToggleEmpty, "sends an empty list (KEY leaves it out)"},
		{forms.Field{Kind: forms.KindInteger}, nil, "left out"},
		{forms.Field{Kind: forms.KindBoolean, Required: true}, nil, "no answer yet"},
		{forms.Field{Kind: forms.KindString, Default: forms.TextValue("")}, nil, "default, sends empty text (KEY leaves it out)"},
		{forms.Field{Kind: forms.KindString, Default: forms.TextValue("x")}, nil, "default"},
		{str, func(f *Field) { f.SetText("x") }, ""},
	} {
		d := one(c.f)
		if c.do != nil {
			c.do(d)
		}
		if got := d.State("KEY"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// A value that could be taken for one of our words, or whose blanks would not be seen, stands in quotes.
func TestSummaryIsNotTakenForOurs(t *testing.T) {
	f := one(forms.Field{Kind: forms.KindString})
	for typed, want := range map[string]string{"plain": "plain", " ": `" "`, "x ": `"x "`, LeftOut: `"` + LeftOut + `"`, "a\x1b[2J": `a\x1b[2J`, "a (b)": "a (b)"} {
		if f.SetText(typed); f.Summary() != want {
			t.Errorf("%q reads %q, want %q", typed, f.Summary(), want)
		}
	}
	s := one(forms.Field{Kind: forms.KindSingleSelect, Options: []forms.Option{{Value: "v", Label: NoAnswer}}})
	if s.Choose(0); s.Summary() != `"`+NoAnswer+`"` {
		t.Error(s.Summary())
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		f    forms.Field
		want string
	}{
		{forms.Field{Kind: forms.KindString}, "at most 256 characters"},
		{forms.Field{Kind: forms.KindString, MinLength: ptr(300)}, "exactly 300 characters"},
		{forms.Field{Kind: forms.KindString, MinLength: ptr(0), MaxLength: ptr(9), Format: forms.FormatDate}, "date like 2026-01-31, at most 9 characters"},
		{forms.Field{Kind: forms.KindInteger, Minimum: ptr(number("1"))}, "whole number, at least 1"},
		{forms.Field{Kind: forms.KindNumber, Minimum: ptr(number("0")), Maximum: ptr(number("0.5"))}, "number, 0 to 0.5"},
		{forms.Field{Kind: forms.KindMultiSelect, Options: options("a"), MinItems: ptr(1), MaxItems: ptr(1)}, "choose exactly 1"},
		{forms.Field{Kind: forms.KindMultiSelect, Options: options("a")}, "choose any"},
		{forms.Field{Kind: forms.KindBoolean}, ""},
	} {
		if got := one(c.f).Hint(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// Whatever a person does to a draft, a result without anything wrong fits the form and is what the summaries say.
func TestResultIsWhatIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := forms.Form{Message: "m", Requester: forms.Requester{Name: "t"}}
		for i, f := range kinds {
			f.Name, f.Label = string(rune('a'+i)), "L"
			f.Required = rapid.Bool().Draw(t, "required")
			form.Fields = append(form.Fields, f)
		}
		d := New(form, nil)
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			f := d.Fields[rapid.IntRange(0, len(d.Fields)-1).Draw(t, "field")]
			switch op := rapid.IntRange(0, 4).Draw(t, "op"); {
			case op == 0:
				f.ToggleEmpty()
			case op == 1:
				f.Reset()
			case f.IsText():
				f.SetText(rapid.SampledFrom([]string{"", "0", "-1.5", "12", "x", " ", "(left out)", "1e9"}).Draw(t, "text"))
			case f.Spec.Kind == forms.KindMultiSelect:
				f.Pick(rapid.IntRange(0, 1).Draw(t, "option"), rapid.Bool().Draw(t, "on"))
			default:
				f.Choose(rapid.IntRange(-1, 1).Draw(t, "choice"))
			}
		}
		r, wrong := d.Result()
		if len(wrong) > 0 {
			return
		}
		if errs := form.Check(r); errs != nil {
			t.Fatalf("nothing is wrong, and %v", errs)
		}
		for _, f := range d.Fields {
			want := LeftOut
			if v, given := r.Values[f.Spec.Name]; given {
				want = f.Words(v)
			}
			if f.Summary() != want {
				t.Fatalf("%s shows %q and sends %q", f.Spec.Kind, f.Summary(), want)
			}
		}
	})
}
