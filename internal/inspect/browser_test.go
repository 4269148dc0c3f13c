package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBrowserCommands(t *testing.T) {
	const u = "https://x.example/a?b=$(touch p);c&d"
	for _, c := range []struct {
		browser string
		want    [][]string
	}{
		{"", nil},
		{"firefox", [][]string{{"firefox", u}}},
		{"firefox -P %s:lynx", [][]string{{"firefox", "-P", u}, {"lynx", u}}},
		{"open --url=%s -n", [][]string{{"open", "--url=" + u, "-n"}}},
		{" : ", nil},
		{`firefox "%s"`, [][]string{{"firefox", u}}},
		{`'/mnt/c/Program Files/ff.exe' -url "%s":"a:b"`, [][]string{{"/mnt/c/Program Files/ff.exe", "-url", u}, {"a:b", u}}},
		{"/home/o'neill/ff --x=\"a b\"c", [][]string{{"/home/o'neill/ff", "--x=a bc", u}}},
		{`"":''`, nil},
		{"%s", [][]string{{"%s", u}}}, // an address is never a program
	} {
		got := Browser(c.browser).commands(u)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%q: %q", c.browser, got)
		}
	}
}

// SE-06: the browser gets the address as one argument, and no shell reads it.
func TestBrowserRunsWithoutAShell(t *testing.T) {
	dir := t.TempDir()
	script, out, hurt := filepath.Join(dir, "browser"), filepath.Join(dir, "out"), filepath.Join(dir, "hurt")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > "+out+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	address := "https://x.example/$(touch${IFS}" + hurt + ");`touch${IFS}" + hurt + "`&'\"|"
	a := ReadAddress(address)
	if a.Refused != "" {
		t.Fatal(a.Refused)
	}
	if err := Browser(script).Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil || string(got) != "1\n"+address+"\n" {
		t.Errorf("%v: %q", err, got)
	}
	if _, err := os.Stat(hurt); err == nil {
		t.Error("a shell has read the address")
	}
}

// SE-07: a browser that cannot open says so.
func TestBrowserThatFails(t *testing.T) {
	a := ReadAddress("https://x.example/")
	if err := Browser("").Open(t.Context(), a); !errors.Is(err, ErrNoBrowser) {
		t.Error(err)
	}
	for _, b := range []Browser{"false", "/does/not/exist", "false:/does/not/exist"} {
		if err := b.Open(t.Context(), a); err == nil || strings.Contains(err.Error(), "x.example") {
			t.Errorf("%q: %v", b, err)
		}
	}
	if err := Browser("false:true").Open(t.Context(), a); err != nil {
		t.Errorf("the second was not tried: %v", err)
	}
	if err := Browser("true").Open(t.Context(), ReadAddress("http://x.example/")); err == nil {
		t.Error("a refused address was opened")
	}
}
