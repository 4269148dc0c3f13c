package hostview

import "testing"

func TestCallLines(t *testing.T) {
	for text, want := range map[string]string{
		"/call a/b {\n  \"x\": 1\n}":                       `/call a/b { "x": 1 }`,
		"/call a/b\r\n{\"x\":\"y z\"}\n\n/call c/d {\n}\n": "/call a/b {\"x\":\"y z\"}\n/call c/d { }",
		"/call a/b {}\n  /call c/d":                        "/call a/b {}\n  /call c/d",
		"/call a/b {}":                                     "/call a/b {}",
		"hello\nworld":                                     "hello\nworld",
		"":                                                 "",
	} {
		if got := CallLines(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
