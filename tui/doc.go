// Package tui is the terminal surface: one screen program whose every part draws what the Host tells plus a
// draft that was not sent yet. Run starts it, on a whole screen or, where there is none, with lines.
//
// The model never waits: what talks to the Host or to a server runs in a command, and its end comes back as a
// message. Parts are plain structs that the model asks to draw themselves and to take keys.
package tui
