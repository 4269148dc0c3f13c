package linemode

import (
	"fmt"
	"strconv"
	"strings"

	"askback/forms"
	"askback/tui/draft"
)

// set takes a line as the field's answer; it returns what is wrong with a line that chooses nothing.
func set(f *draft.Field, s string) string {
	switch f.Spec.Kind {
	case forms.KindBoolean:
		return setBoolean(f, s)
	case forms.KindSingleSelect:
		i, msg := option(f, s)
		if msg == "" {
			f.Choose(i)
		}
		return msg
	case forms.KindMultiSelect:
		return setMany(f, s)
	}
	f.SetText(s)
	return ""
}

func setBoolean(f *draft.Field, s string) string {
	switch strings.ToLower(s) {
	case "1", "y", "yes", "true":
		f.Choose(draft.Yes)
	case "2", "n", "no", "false":
		f.Choose(draft.No)
	default:
		return "write yes, no, or a number from 1 to 2"
	}
	return ""
}

// option reads a number, else a label in full. A number is always the one in front of the option, whatever labels say.
func option(f *draft.Field, s string) (int, string) {
	last := len(f.Labels())
	n, err := strconv.Atoi(s)
	if err == nil && n >= 1 && n <= last {
		return n - 1, ""
	}
	found := draft.None
	for i, label := range f.Labels() {
		if err != nil && strings.EqualFold(label, s) {
			if found != draft.None {
				found = draft.None
				break
			}
			found = i
		}
	}
	if found == draft.None {
		return 0, fmt.Sprintf("write a number from 1 to %d", last)
	}
	return found, ""
}

// setMany replaces what is chosen, or nothing where a number is wrong.
func setMany(f *draft.Field, s string) string {
	var picks []int
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }) {
		i, msg := option(f, word)
		if msg != "" {
			return msg
		}
		picks = append(picks, i)
	}
	if len(picks) == 0 {
		return fmt.Sprintf("write numbers from 1 to %d", len(f.Labels()))
	}
	f.Clear()
	for _, i := range picks {
		f.Pick(i, true)
	}
	return ""
}
