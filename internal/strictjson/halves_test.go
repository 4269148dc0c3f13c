package strictjson

import (
	"errors"
	"strings"
	"testing"
)

func TestParseSchema(t *testing.T) {
	for _, tc := range []struct{ in, out, path string }{
		{`{"title":"a"}`, `{"title":"a"}`, ""},
		{`{"title":"\ud83dx\udE00\ud83d\ude00\\ud83d","y":["\ud83d"]}`, `{"title":"\ufffdx\ufffd\ud83d\ude00\\ud83d","y":["\ufffd"]}`, ""},
		{`{"default":["\ud83d"],"a":1}`, `{"default":null      ,"a":1}`, ""},
		{`{"properties":{"default":{"enum":["a"],"title":"\ud83d"},"enum":{"title":"\ud83d"}}}`,
			`{"properties":{"default":{"enum":["a"],"title":"\ufffd"},"enum":{"title":"\ufffd"}}}`, ""},
		{`{"title":"\ud83d","enum":["\ud83d"]}`, "", "enum[0]"},
		{`{"const":"\ud83d"}`, "", "const"},
		{`{"a":{"\ud83d":1}}`, "", "a"},
		{`"\ud83d"`, `"\ufffd"`, ""},
	} {
		given := strings.Clone(tc.in)
		v, mended, err := ParseSchema([]byte(given), Limits{})
		if tc.path != "" {
			if e, ok := errors.AsType[*Error](err); !ok || e.Problem != LoneSurrogate || e.Path != tc.path || mended {
				t.Errorf("%s: %v", tc.in, err)
			}
			continue
		}
		if err != nil || string(v.Raw()) != tc.out || mended != (tc.in != tc.out) {
			t.Errorf("%s: %s %v %v", tc.in, v.Raw(), mended, err)
		}
	}
	in := []byte(`{"title":"\ud83d"}`)
	if _, _, err := ParseSchema(in, Limits{}); err != nil || string(in) != `{"title":"\ud83d"}` {
		t.Errorf("the text was written to: %s %v", in, err)
	}
	if _, _, err := ParseSchema([]byte(`{"title":"\ud83d","a":1,"a":2}`), Limits{}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
	if _, _, err := ParseSchema([]byte(`{"title":"\ud83d"}`), Limits{MaxBytes: 5}); err == nil {
		t.Error("over the limit")
	}
}
