package tty

import (
	"os"

	"golang.org/x/term"
)

// A Surface says which of the two surfaces fits the terminal.
type Surface struct {
	Screen bool   // a whole screen can be drawn; else lines are read and written
	Why    string // why lines, for a person; "" when Screen or when the person asked for lines
}

// Detect decides between the screen and lines. The screen needs a terminal on both sides that can move its
// cursor; a person may ask for lines with the flag or the environment.
func Detect(in, out *os.File, getenv func(string) string, accessible bool) Surface {
	if accessible || on(getenv("ACCESSIBLE")) || on(getenv("ASKBACK_ACCESSIBLE")) {
		return Surface{}
	}
	switch t := getenv("TERM"); t {
	case "", "dumb":
		return Surface{Why: "TERM says that this terminal draws no screen"}
	}
	if !IsTerminal(in) {
		return Surface{Why: "input is not a terminal"}
	}
	if !IsTerminal(out) {
		return Surface{Why: "output is not a terminal"}
	}
	return Surface{Screen: true}
}

// IsTerminal says whether f is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// Columns is how wide the terminal f is; 0 where it is none or does not say.
func Columns(f *os.File) int {
	if f == nil {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

func on(v string) bool { return v != "" && v != "0" && v != "false" }
