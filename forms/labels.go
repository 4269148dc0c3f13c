package forms

import (
	"fmt"
	"strings"
)

// tellApart changes the labels of opts, in place, so that they differ after
// the display projection: labels that are equal get their value in
// parentheses, and what is still equal then a number. No label grows over most
// bytes. It returns the labels that it gave.
func tellApart(opts []Option, most int) (given []string) {
	count := make(map[string]int, len(opts))
	for _, o := range opts {
		count[Line(o.Label)]++
	}
	if len(count) == len(opts) {
		return nil
	}
	taken := make(map[string]bool, len(opts))
	for label, n := range count {
		taken[label] = n == 1
	}
	for i, o := range opts {
		if count[Line(o.Label)] == 1 {
			continue
		}
		value := cutTo(Line(o.Value), most/2-len(` ("") #123456`))
		if strings.TrimSpace(value) == "" {
			value = `"` + value + `"`
		}
		suffix := " (" + value + ")"
		label := withSuffix(o.Label, suffix, most)
		for n := 2; taken[Line(label)]; n++ {
			label = withSuffix(o.Label, fmt.Sprintf("%s #%d", suffix, n), most)
		}
		taken[Line(label)] = true
		opts[i].Label = label
		given = append(given, label)
	}
	return given
}

// withSuffix is label and suffix in at most most bytes.
func withSuffix(label, suffix string, most int) string {
	return cutTo(label, most-len(suffix)) + suffix
}
