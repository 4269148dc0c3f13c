package tui

import "testing"

func TestResultText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\nc"}]}`, "a\nb\nc"},
		{"image", `{"content":[{"type":"image","data":"AAAAAAAA","mimeType":"image/png"}]}`, "(image image/png, 6 bytes)"},
		{"resource", `{"content":[{"type":"resource","uri":"file:///a","text":"x"}]}`, "(file:///a)\nx"},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"n"}]}`, "(n file:///a)"},
		{"structured alone", `{"content":[],"structuredContent":{"a":1}}`, "{\n  \"a\": 1\n}"},
		{"structured beside text", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"a":1}}`, "a"},
		{"empty", `{"content":[]}`, ""},
		{"not a result", `[1,2]`, "[\n  1,\n  2\n]"},
		{"not JSON", `x`, "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := resultText([]byte(tc.in)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
