package strictjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzParse: what is accepted is JSON for encoding/json too, and the walk gives
// back every member and element.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,"x",{"b":null}],"\u0061b":true}`, `[]`, `"\ud83d\ude00"`, `"\ud800"`, ` -0.5e+10 `, `{"a":1,"a":2}`, `[[[[`, "\"\xff\"", `{} x`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, lone := range []bool{false, true} {
			v, err := Parse(data, Limits{MaxBytes: 1 << 16, LoneSurrogates: lone})
			if err != nil {
				if len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) {
					t.Fatalf("error %q", err)
				}
				continue
			}
			if !json.Valid(data) {
				t.Fatalf("%q is no JSON for encoding/json", data)
			}
			got, err := exact(rebuild(nil, v))
			if err != nil {
				t.Fatalf("%q was rebuilt as %q", data, rebuild(nil, v))
			}
			want, err := exact(data)
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if !bytes.Equal(a, b) {
				t.Fatalf("%q was walked as %s", data, a)
			}
		}
	})
}

// exact decodes JSON with encoding/json, numbers as their text.
func exact(data []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// rebuild writes v from its parts.
func rebuild(dst []byte, v Value) []byte {
	switch v.Kind() {
	case Object:
		dst = append(dst, '{')
		for k, val := range v.Members() {
			dst = rebuild(AppendKey(dst, k), val)
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		first := true
		for e := range v.Elements() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = rebuild(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, v.Raw()...)
}
