// Package tty is the terminal below the screen program: a reader that puts split escape sequences together,
// what kind of terminal this is, and whether the program may be suspended.
package tty
