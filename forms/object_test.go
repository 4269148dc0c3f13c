package forms

import "testing"

func TestObject(t *testing.T) {
	f := Form{Fields: []Field{{Name: "z"}, {Name: "a\"b"}, {Name: "left out"}, {Name: "n"}}}
	r := Accept(Values{"n": NumberValue(NumberOf(7)), "a\"b": ListValue([]string{"x"}), "z": BoolValue(false), "other": TextValue("no field")})
	if got, want := string(f.Object(r)), `{"z":false,"a\"b":["x"],"n":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(f.Object(Decline())); got != "{}" {
		t.Errorf("nothing accepted: %s", got)
	}
}
