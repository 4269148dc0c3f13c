package forms

import (
	"fmt"
	"slices"
	"strings"
)

// What can be changed about the options of a field, as the end of a sentence
// whose subject is the field. The options, or the labels that they got, follow.
const (
	optionRepeated       = "lists options more than once, which count once"
	optionRuledOut       = "lists options that its other keywords rule out, which are left out"
	optionUntitled       = "has options without a title, which are shown by their value"
	optionBlank          = "has options with a blank title, which are shown by their quoted value"
	optionLabelCut       = "has options whose label is cut"
	optionDescriptionCut = "has options whose description is cut"
	optionToldApart      = "has options of equal labels, which are shown with their value"
)

// changes collect what is not in a form as the server wrote it: each kind of
// change once, with all the options that it concerns. The zero value is none.
type changes []change

type change struct {
	what string
	of   []string // empty where the field itself is concerned
	seen map[string]bool
}

// add notes a change of options, or of the field itself where of is empty.
func (cs *changes) add(what string, of ...string) {
	i := slices.IndexFunc(*cs, func(c change) bool { return c.what == what })
	if i < 0 {
		i = len(*cs)
		*cs = append(*cs, change{what: what, seen: map[string]bool{}})
	}
	c := &(*cs)[i]
	for _, o := range of {
		if !c.seen[o] {
			c.seen[o] = true
			c.of = append(c.of, o)
		}
	}
}

func (cs *changes) addAll(more changes) {
	for _, c := range more {
		cs.add(c.what, c.of...)
	}
}

// cut notes a text of the field that was shortened.
func (cs *changes) cut(what string, size, most int) {
	cs.add(fmt.Sprintf("has a %s of %d bytes, which is cut to %d", what, size, most))
}

// maxListed is how many options a change names.
const maxListed = 5

// texts are the changes in words, in the order in which they were made.
func (cs changes) texts() []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.text())
	}
	return out
}

func (c change) text() string {
	if len(c.of) == 0 {
		return c.what
	}
	var names []string
	for _, o := range c.of[:min(maxListed, len(c.of))] {
		names = append(names, quoteName(o))
	}
	out := c.what + ": " + strings.Join(names, ", ")
	if n := len(c.of) - maxListed; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}
