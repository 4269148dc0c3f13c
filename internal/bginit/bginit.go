// Package bginit tells lipgloss the terminal's background before anything asks the terminal for it.
//
// bubbletea asks in an init function (OSC 11 and a cursor report), in every program that links it, and waits five
// seconds on a terminal that does not answer. Packages are initialised in the order of their import paths as far as
// their dependencies allow, so that this one, which needs lipgloss alone, runs before github.com/charmbracelet/bubbletea
// for as long as the module's path sorts before it. The theme is chosen from the environment, never from that answer.
package bginit

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
