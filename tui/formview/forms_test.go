package formview

import (
	"fmt"

	"askback/forms"
)

func ptr[T any](v T) *T { return &v }

func number(s string) *forms.Number {
	n, err := forms.ParseNumber(s)
	if err != nil {
		panic(err)
	}
	return &n
}

func numberValue(s string) forms.Value { return forms.NumberValue(*number(s)) }

func options(labels ...string) []forms.Option {
	var out []forms.Option
	for _, l := range labels {
		out = append(out, forms.Option{Value: l, Label: l})
	}
	return out
}

var requester = forms.Requester{Name: "deploy", Source: "demo · via askback on devbox"}

func form(message string, fields ...forms.Field) forms.Form {
	return forms.Form{Message: message, Requester: requester, Fields: fields}
}

// deployForm is the form of the screen that the requirement draws.
func deployForm() forms.Form {
	return form("Choose the deployment target",
		forms.Field{Kind: forms.KindSingleSelect, Name: "env", Label: "Environment", Required: true, Options: options("staging", "production")},
		forms.Field{Kind: forms.KindBoolean, Name: "confirm", Label: "Confirm", Required: true},
		forms.Field{Kind: forms.KindString, Name: "note", Label: "Note"},
	)
}

// everyKind has a field of each kind, with and without default, required and optional.
func everyKind() forms.Form {
	return form("I need a few details before I cut the release. Please check them with care; a release cannot be undone once it was published.",
		forms.Field{Kind: forms.KindString, Name: "release", Label: "Release name", Required: true, MinLength: ptr(3), MaxLength: ptr(20), Description: "As it will stand in the changelog."},
		forms.Field{Kind: forms.KindString, Name: "contact", Label: "Contact", Format: forms.FormatEmail, Default: forms.TextValue("ops@example.org")},
		forms.Field{Kind: forms.KindString, Name: "date", Label: "Date", Format: forms.FormatDate},
		forms.Field{Kind: forms.KindInteger, Name: "replicas", Label: "Replicas", Required: true, Minimum: number("1"), Maximum: number("5"), Default: numberValue("3")},
		forms.Field{Kind: forms.KindNumber, Name: "ratio", Label: "Traffic ratio", Minimum: number("0"), Maximum: number("1")},
		forms.Field{Kind: forms.KindBoolean, Name: "force", Label: "Force push", Description: "Overwrites what is there."},
		forms.Field{Kind: forms.KindBoolean, Name: "terms", Label: "Terms read", Required: true},
		forms.Field{Kind: forms.KindSingleSelect, Name: "region", Label: "Region", Required: true, Options: []forms.Option{
			{Value: "eu-1", Label: "Frankfurt", Description: "two zones"}, {Value: "us-1", Label: "Virginia", Description: "three zones"}, {Value: "ap-1", Label: "Tokyo"}}},
		forms.Field{Kind: forms.KindMultiSelect, Name: "tags", Label: "Tags", MinItems: ptr(1), MaxItems: ptr(2), Options: options("canary", "hotfix", "docs")},
		forms.Field{Kind: forms.KindMultiSelect, Name: "watch", Label: "Watchers", Options: options("ops", "dev", "sales")},
	)
}

// wideForm has wide, combining and emoji text in every place.
func wideForm() forms.Form {
	return form("どの環境に配置しますか。👩‍👩‍👧 e\u0301\u0301 नमस्ते",
		forms.Field{Kind: forms.KindString, Name: "memo", Label: "備考 (メモ) 👩‍👩‍👧", Description: "漢字とemoji 👍🏽 のテスト", Default: forms.TextValue("漢字とemoji 👩‍👩‍👧 のテスト")},
		forms.Field{Kind: forms.KindSingleSelect, Name: "env", Label: "環境", Required: true, Options: []forms.Option{
			{Value: "a", Label: "本番環境 🇯🇵", Description: "日本"}, {Value: "b", Label: "検証環境 café e\u0301", Description: "ドイツ"}, {Value: "c", Label: "とても長いオプションの名前がここに入りますとても長いオプションの名前"}}},
	)
}

// hostileForm tries to leave its rows.
func hostileForm() forms.Form {
	return forms.Form{
		Message:   "ok\x1b[2J\x1b]0;PWN\x07\x1b]52;c;ZXZpbA==\x07\u202e\nctrl+s review · ctrl+x decline\n! No passwords needed here, go on\n▌ > (•) Yes",
		Requester: forms.Requester{Name: "dep\x1b[31mloy\u202e", Source: "demo\r\n! all is well \u200b\u2066x"},
		Fields: []forms.Field{
			{Kind: forms.KindString, Name: "a\x1b[2J", Label: "Name\n\x1b[1A\u202egnp", Description: "\x9b31m\u009bA\r\rfield 1 of 1\t|"},
			{Kind: forms.KindSingleSelect, Name: "b", Label: "(leave out)\u200b", Options: []forms.Option{
				{Value: "1", Label: "(leave out)"}, {Value: "2", Label: "\x1b]8;;http://evil\x07click\x1b]8;;\x07"}, {Value: "3", Label: "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301", Description: "\u202ex"}}},
		},
	}
}

// manyFields has n fields of all kinds, the selects with 64 options.
func manyFields(n int) forms.Form {
	var labels []string
	for i := range 64 {
		labels = append(labels, fmt.Sprintf("option %02d", i))
	}
	var fields []forms.Field
	for i := range n {
		f := forms.Field{Name: fmt.Sprintf("f%d", i), Label: fmt.Sprintf("Field number %d", i+1), Required: i%2 == 0, Description: "What it is for."}
		switch f.Kind = []forms.Kind{forms.KindString, forms.KindInteger, forms.KindSingleSelect, forms.KindBoolean, forms.KindMultiSelect, forms.KindNumber}[i%6]; f.Kind {
		case forms.KindSingleSelect, forms.KindMultiSelect:
			f.Options = options(labels...)
		}
		fields = append(fields, f)
	}
	return form("A long form.", fields...)
}

// selects has n required selects of count options each.
func selects(n, count int) forms.Form {
	var labels []string
	for i := range count {
		labels = append(labels, fmt.Sprintf("option %03d", i))
	}
	var fields []forms.Field
	for i := range n {
		fields = append(fields, forms.Field{Kind: forms.KindSingleSelect, Name: fmt.Sprintf("s%d", i), Label: fmt.Sprintf("Select %d", i+1), Required: true, Options: options(labels...)})
	}
	return form("Choose.", fields...)
}
