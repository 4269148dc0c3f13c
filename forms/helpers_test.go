package forms

import (
	"testing"

	"askback/internal/strictjson"
)

func parse(t *testing.T, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustForm(t testing.TB, json string) Form {
	t.Helper()
	f, err := DecodeForm([]byte(json), OurLimits())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func number(t testing.TB, s string) Number {
	t.Helper()
	n, err := ParseNumber(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return n
}
