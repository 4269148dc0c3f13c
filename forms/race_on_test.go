//go:build race

package forms

const raceEnabled = true
