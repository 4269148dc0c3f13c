package forms

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAdmissionRefuses(t *testing.T) {
	for _, tc := range []struct{ name, json, says string }{
		{"minLength over maxLength", field("string", `"minLength":3,"maxLength":2`), `"f": asks for at least 3 and at most 2 characters`},
		{"minLength above 2048", field("string", `"minLength":2049`), `"f": asks for at least 2049 characters, but a text has at most 2048`},
		{"minimum over maximum", field("number", `"minimum":1.1,"maximum":1.09`), `"f": asks for at least 1.1 and at most 1.09`},
		{"no integer in range", field("integer", `"minimum":0.1,"maximum":0.9`), "holds no whole number"},
		{"no integer in negative range", field("integer", `"minimum":-0.9,"maximum":-0.1`), "holds no whole number"},
		{"integers beyond 2^53", field("integer", `"minimum":9007199254740992`), "holds no whole number"},
		{"integers beyond -2^53", field("integer", `"maximum":-1e300`), "holds no whole number"},
		{"minItems over options", field("multi_select", twoOptions+`,"minItems":3`), "asks for at least 3 of 2 options"},
		{"minItems over maxItems", field("multi_select", twoOptions+`,"minItems":2,"maxItems":1`), "asks for at least 2 and at most 1 choices"},
		{"an email of at most 4", field("string", `"format":"email","maxLength":4`), "asks for an e-mail address of 0 to 4 characters"},
		{"an email of at least 255", field("string", `"format":"email","minLength":255`), "which does not exist"},
		{"a date of at most 5", field("string", `"format":"date","maxLength":5`), "asks for a date of 0 to 5 characters"},
		{"a date of at least 11", field("string", `"format":"date","minLength":11`), "which does not exist"},
		{"a date-time of at most 19", field("string", `"format":"date-time","maxLength":19`), "which does not exist"},
		{"a date-time of exactly 21", field("string", `"format":"date-time","minLength":21,"maxLength":21`), "which does not exist"},
		{"a uri of at most 2", field("string", `"format":"uri","maxLength":2`), "which does not exist"},
		{"default too long", field("string", `"maxLength":3,"default":"abcd"`), "has a default that does not fit: must have at most 3 characters, has 4"},
		{"default without maxLength over 256", field("string", `"default":"`+strings.Repeat("x", 257)+`"`), "default that does not fit"},
		{"default of another format", field("string", `"format":"date","default":"2026-02-30"`), "default that does not fit"},
		{"default under minimum", field("integer", `"minimum":10,"default":5`), "default that does not fit: must be at least 10"},
		{"default fraction", field("integer", `"default":1.5`), "default that does not fit: must be a whole number"},
		{"default no option", field("single_select", twoOptions+`,"default":"c"`), "default that does not fit: must be one of the options"},
		{"default twice", field("multi_select", twoOptions+`,"default":["a","a"]`), `default that does not fit: holds "a" twice`},
		{"default over maxItems", field("multi_select", twoOptions+`,"maxItems":1,"default":["a","b"]`), "default that does not fit: must have at most 1 choice, has 2"},
		{"equal values", field("single_select", `"options":[{"value":"a","label":"A"},{"value":"a","label":"B"}]`), `two options of the value "a"`},
		{"equal labels", field("single_select", `"options":[{"value":"a","label":"A"},{"value":"b","label":"A"}]`), `two options of the label "A"`},
		{"equal names", field("boolean", "") + "," + field("string", ""), "is the name of two fields"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := DecodeForm([]byte(one(tc.json)), OurLimits())
			errs, ok := errors.AsType[Errors](err)
			if !ok || !strings.Contains(errs.Error(), tc.says) {
				t.Fatalf("error %v, want Errors that say %q", err, tc.says)
			}
			if errs[0].Field != "f" {
				t.Errorf("names field %q", errs[0].Field)
			}
		})
	}
}

func TestAdmissionAccepts(t *testing.T) {
	for _, tc := range []struct{ name, json string }{
		{"one integer", field("integer", `"minimum":0.1,"maximum":1.9`)},
		{"a single integer at the border", field("integer", `"minimum":9007199254740991`)},
		{"negative integers", field("integer", `"minimum":-1.5,"maximum":-0.5`)},
		{"range of one number", field("number", `"minimum":1.0,"maximum":1`)},
		{"email of 5", field("string", `"format":"email","maxLength":5`)},
		{"email of 254", field("string", `"format":"email","minLength":254`)},
		{"date of exactly 10", field("string", `"format":"date","minLength":10,"maxLength":10`)},
		{"date-time of exactly 20", field("string", `"format":"date-time","maxLength":20`)},
		{"date-time of exactly 22", field("string", `"format":"date-time","minLength":22,"maxLength":22`)},
		{"date-time of 21 or 22", field("string", `"format":"date-time","minLength":21,"maxLength":22`)},
		{"empty text only", field("string", `"maxLength":0`)},
		{"empty list only", field("multi_select", twoOptions+`,"maxItems":0`)},
		{"maxItems over options", field("multi_select", twoOptions+`,"maxItems":99`)},
		{"equal labels of two fields", field("boolean", "") + "," + strings.Replace(field("boolean", ""), `"f"`, `"g"`, 1)},
		{"labels equal after projection only", field("single_select", `"options":[{"value":"a","label":"x\u200b"},{"value":"b","label":"x\\u{200b}"}]`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := mustForm(t, one(tc.json))
			if errs := f.Check(Accept(f.answer())); errs != nil {
				t.Errorf("no answer: %v", errs)
			}
		})
	}
}

// TestAdmitReportsAll: a form may have several errors, and each is a value.
func TestAdmitReportsAll(t *testing.T) {
	_, err := DecodeForm([]byte(one(
		`{"kind":"string","name":"a","label":"A","required":true,"minLength":3,"maxLength":2}`,
		`{"kind":"boolean","name":"b","label":"B","required":true}`,
		`{"kind":"integer","name":"c","label":"C","required":true,"minimum":3,"maximum":2}`)), OurLimits())
	errs, _ := errors.AsType[Errors](err)
	var names []string
	for _, e := range errs {
		names = append(names, e.Field)
	}
	if strings.Join(names, ",") != "a,c" {
		t.Errorf("errors of fields %v, want a and c", names)
	}
}

func texts(n int) Form {
	f := Form{Message: "m", Requester: Requester{Name: "t"}}
	for i := range n {
		f.Fields = append(f.Fields, Field{Kind: KindString, Name: fmt.Sprintf("field_%d", i), Label: "A field"})
	}
	return f
}

// TestPlainTextFields: forms with 8, 16 and 32 plain text fields are admitted,
// and the lengths that the server left open fall only where they must.
func TestPlainTextFields(t *testing.T) {
	for _, tc := range []struct {
		lim       Limits
		name      string
		n, length int
	}{
		{OurLimits(), "ours", 1, 256}, {OurLimits(), "ours", 8, 256}, {OurLimits(), "ours", 16, 256}, {OurLimits(), "ours", 32, 256},
		{ForeignLimits(), "foreign", 1, 256}, {ForeignLimits(), "foreign", 7, 256}, {ForeignLimits(), "foreign", 8, 128},
		{ForeignLimits(), "foreign", 16, 64}, {ForeignLimits(), "foreign", 32, 32},
	} {
		t.Run(fmt.Sprintf("%s/%d", tc.name, tc.n), func(t *testing.T) {
			fit, err := texts(tc.n).Fit(tc.lim)
			if err != nil {
				t.Fatal(err)
			}
			for _, fd := range fit.Fields {
				if *fd.MaxLength != tc.length {
					t.Fatalf("maxLength %d, want %d", *fd.MaxLength, tc.length)
				}
			}
			r := Accept(fit.longestValues())
			raw, _ := r.Encode()
			if fit.Check(r) != nil || len(raw) > tc.lim.Answer {
				t.Errorf("the longest answer: %v, %d bytes", fit.Check(r), len(raw))
			}
		})
	}
}

func TestEffectiveMaxLength(t *testing.T) {
	for _, tc := range []struct {
		name, members string
		want          int
	}{
		{"nothing stated", ``, 256},
		{"minLength below", `"minLength":10`, 256},
		{"minLength above", `"minLength":300`, 300},
		{"stated", `"maxLength":20`, 20},
		{"stated above 2048", `"maxLength":999999999999999999999`, 2048},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := mustForm(t, one(field("string", tc.members)))
			x := strings.Repeat("x", tc.want)
			fit, err := f.Fit(OurLimits())
			if err != nil || *fit.Fields[0].MaxLength != tc.want {
				t.Fatalf("maxLength %v %v", fit, err)
			}
			for _, form := range []Form{f, fit} { // the same before and after
				if errs := form.Check(Accept(Values{"f": TextValue(x)})); errs != nil {
					t.Errorf("%d characters: %v", tc.want, errs)
				}
				if errs := form.Check(Accept(Values{"f": TextValue(x + "x")})); errs == nil {
					t.Errorf("%d characters fit", tc.want+1)
				}
			}
		})
	}
}

// TestOnlyStatedLimitsRefuse: what the server states can be too large for the
// answer limit; the refusal names the largest field.
func TestOnlyStatedLimitsRefuse(t *testing.T) {
	big, small := 2048, 64
	f := texts(3)
	f.Fields[0].MaxLength = &small
	f.Fields[1].MaxLength = &big
	if _, err := f.Fit(OurLimits()); err != nil {
		t.Errorf("64 KiB: %v", err)
	}
	_, err := f.Fit(ForeignLimits())
	errs, _ := errors.AsType[Errors](err)
	if len(errs) != 1 || errs[0].Field != "field_1" || errs[0].Rule != RuleMaxLength {
		t.Fatalf("8 KiB: %v", err)
	}
	if !strings.Contains(errs[0].Message, "smaller maxLength") {
		t.Errorf("no advice: %s", errs[0].Message)
	}
	// No length is stated, and what is left to shorten are the names.
	named := texts(32)
	for i := range named.Fields {
		named.Fields[i].Name += strings.Repeat("n", 150)
	}
	_, err = named.Fit(ForeignLimits())
	errs, _ = errors.AsType[Errors](err)
	if len(errs) != 1 || errs[0].Rule != RuleSize || !strings.HasSuffix(errs[0].Message, "; give the fields shorter names, or ask for fewer") {
		t.Errorf("long names: %v", err)
	}
	least := texts(1)
	least.Fields[0].MinLength = &big
	lim := ForeignLimits()
	lim.Answer = 4 << 10
	_, err = least.Fit(lim)
	errs, _ = errors.AsType[Errors](err)
	if len(errs) != 1 || errs[0].Rule != RuleMinLength || !strings.Contains(errs[0].Message, "smaller minLength") {
		t.Errorf("a minLength of 2048: %v", err)
	}
	multi := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: []Field{{Kind: KindMultiSelect, Name: "p", Label: "P"}}}
	for i := range 10 {
		multi.Fields[0].Options = append(multi.Fields[0].Options, Option{Value: fmt.Sprint(i) + strings.Repeat("v", 1000), Label: fmt.Sprint(i)})
	}
	if err := multi.Admit(ForeignLimits()); err == nil {
		t.Error("ten options of 1,000 bytes fit into 8 KiB")
	}
	few := 3
	multi.Fields[0].MaxItems = &few
	if err := multi.Admit(ForeignLimits()); err != nil {
		t.Errorf("three of them: %v", err)
	}
}

// TestOversize: a form that is too large as JSON names the largest part of it.
func TestOversize(t *testing.T) {
	long := strings.Repeat("x", 500)
	for _, tc := range []struct {
		name              string
		field             Field
		rule, named, says string
	}{
		{"description", Field{Kind: KindString, Name: "big", Label: "B", Description: long}, RuleDescription, "big", "make its description shorter"},
		{"default", Field{Kind: KindString, Name: "big", Label: "B", Default: TextValue(long[:200])}, RuleDefault, "big", "make its default shorter"},
		{"options", Field{Kind: KindSingleSelect, Name: "big", Label: "B", Options: []Option{{Value: long, Label: "O"}}}, RuleOptions, "big", "make its list of options shorter"},
		{"name", Field{Kind: KindBoolean, Name: "big" + long[:200], Label: "B"}, RuleSize, "big" + long[:200], "make its name and label shorter"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := texts(3)
			f.Fields[1] = tc.field
			lim := OurLimits()
			lim.Request = 300
			errs, _ := errors.AsType[Errors](f.Admit(lim))
			if len(errs) != 1 || errs[0].Field != tc.named || errs[0].Rule != tc.rule || !strings.Contains(errs[0].Message, tc.says) {
				t.Errorf("%+v", errs)
			}
		})
	}
}

// TestFallingDefault: a default longer than a length that had to fall is
// dropped; the server never stated that length, so it refuses nothing.
func TestFallingDefault(t *testing.T) {
	f := texts(32)
	f.Fields[0].Default = TextValue(strings.Repeat("x", 100))
	ours, err := f.Fit(OurLimits())
	if err != nil || ours.Fields[0].Default.IsZero() {
		t.Errorf("ours: %v", err)
	}
	foreign, err := f.Fit(ForeignLimits())
	if err != nil || !foreign.Fields[0].Default.IsZero() {
		t.Errorf("foreign: %v %v", err, foreign.Fields[0].Default)
	}
	if f.Fields[0].MaxLength != nil || f.Fields[0].Default.IsZero() {
		t.Error("Fit changed what it was given")
	}
}

// TestAdmitForeignMembers: a value that was built, not decoded, may hold what
// no JSON of a form can.
func TestAdmitForeignMembers(t *testing.T) {
	n, num := 1, NumberOf(1)
	bad := -1
	for name, fd := range map[string]Field{
		"kind":            {Kind: "secret"},
		"lengths":         {Kind: KindBoolean, MinLength: &n},
		"format":          {Kind: KindInteger, Format: FormatEmail},
		"unknown format":  {Kind: KindString, Format: "uuid"},
		"bounds":          {Kind: KindString, Minimum: &num},
		"options":         {Kind: KindString, Options: []Option{{"a", "A", ""}}},
		"no options":      {Kind: KindSingleSelect},
		"items":           {Kind: KindSingleSelect, Options: []Option{{"a", "A", ""}}, MinItems: &n},
		"negative length": {Kind: KindString, MinLength: &bad},
		"negative items":  {Kind: KindMultiSelect, Options: []Option{{"a", "A", ""}}, MinItems: &bad},
		"default type":    {Kind: KindString, Default: BoolValue(true)},
		"bad bound":       {Kind: KindNumber, Minimum: &Number{text: "1e999"}},
		"invalid UTF-8":   {Kind: KindString, Description: "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			fd.Name, fd.Label = "f", "F"
			f := Form{Message: "m", Requester: Requester{Name: "t"}, Fields: []Field{fd}}
			if err := f.Admit(OurLimits()); err == nil {
				t.Error("admitted")
			}
		})
	}
	if err := (Form{Message: "\xff", Requester: Requester{Name: "t"}}).Admit(OurLimits()); err == nil {
		t.Error("a message that is not UTF-8 is admitted")
	}
}

// TestFullRequest: a form so close to the limit of a request that the lengths
// do not go in is sent without them where a reader assumes the same, and is
// refused where they had to fall.
func TestFullRequest(t *testing.T) {
	for _, tc := range []struct {
		name string
		lim  Limits
		ok   bool
	}{{"ours", OurLimits(), true}, {"foreign", ForeignLimits(), false}} {
		t.Run(tc.name, func(t *testing.T) {
			f := texts(8)
			f.Message = ""
			tc.lim.Request = 4096
			f.Message = strings.Repeat("m", tc.lim.Request-len(f.append(nil)))
			fit, err := f.Fit(tc.lim)
			if (err == nil) != tc.ok || (f.Admit(tc.lim) == nil) != tc.ok {
				t.Fatalf("%d bytes: Fit says %v, Admit %v", len(f.append(nil)), err, f.Admit(tc.lim))
			}
			if tc.ok && (fit.Fields[0].MaxLength != nil || len(fit.append(nil)) > tc.lim.Request) {
				t.Error("the form grew over the limit")
			}
		})
	}
}
