package strictjson

import "testing"

func TestCompactLen(t *testing.T) {
	for in, want := range map[string]int{
		` { "a" : [ 1 , "b c" ] } `: len(`{"a":[1,"b c"]}`),
		`"\u0041"`:                  3,
		`"\u044f\u044F"`:            6,
		`"\u6f22"`:                  5,
		`"\ud83d\ude00"`:            6,
		`"\ud83d"`:                  8,
		`"\ude00\ud83d"`:            14,
		`"\ud83dx"`:                 9,
		`"\u0000\u001f"`:            14,
		`"\u000a\n\t"`:              8,
		`"\u0022\u005c\""`:          8,
		`"\/\/"`:                    4,
		`"\\u0041"`:                 9,
		`"я"`:                       4,
	} {
		if got := CompactLen([]byte(in)); got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
}
