package forms

import (
	"slices"

	"askback/internal/strictjson"
)

// outcomeWrap is the longest form of what stands around the values in an
// outcome, which is larger than the answer that it records.
const outcomeWrap = `{"kind":"form_answer","action":"accept","values":{},"committedAt":9007199254740991}`

// room finds the length that texts without a maxLength may get so that the
// longest answer fits lim.Answer: 256, 128, 64 or 32. Where none does, what the
// server states is too large, and the error names the largest field, and what
// makes it so: a length or a list that is stated, else its name.
func (f *Form) room(lim Limits) (open int, errs Errors) {
	var longest int
	for _, open = range append([]int{defaultLength}, lesser...) {
		if longest = f.longestAnswer(open); longest <= lim.Answer {
			return open, nil
		}
	}
	largest := &f.Fields[0]
	for i := range f.Fields {
		if fd := &f.Fields[i]; fd.longest(open) > largest.longest(open) {
			largest = fd
		}
	}
	rule, advice := largest.smaller(open)
	return 0, Errors{*largest.fault(rule,
		"can take %d bytes of an answer that may have %d in all, while the form's longest answer has %d; %s",
		largest.longest(open), lim.Answer, longest, advice)}
}

// smaller is what its author can do where the answers of the field are too
// long, and the rule that this is about. open is what a text without maxLength
// got.
func (fd *Field) smaller(open int) (rule, advice string) {
	switch {
	case fd.Kind == KindSingleSelect:
		return RuleOptions, "make its option values shorter"
	case fd.Kind == KindMultiSelect:
		return RuleMaxItems, "state a smaller maxItems or make its option values shorter"
	case fd.Kind == KindString && fd.MaxLength != nil:
		return RuleMaxLength, "state a smaller maxLength"
	case fd.Kind == KindString && fd.minLength() > open:
		return RuleMinLength, "state a smaller minLength"
	}
	return RuleSize, "give the fields shorter names, or ask for fewer"
}

// longestAnswer is the size as JSON of the longest outcome that fits.
func (f *Form) longestAnswer(open int) int {
	size := len(outcomeWrap)
	for i := range f.Fields {
		size += f.Fields[i].longest(open) + len(",")
	}
	return size
}

// longest is the size as JSON of the longest `"name":value` of the field. It
// may be more than the true maximum, never less.
func (fd *Field) longest(open int) int {
	size := len(strictjson.AppendString(nil, fd.Name)) + len(":")
	switch fd.Kind {
	case KindString:
		return size + fd.longestText(fd.maxLength(open))
	case KindNumber, KindInteger:
		return size + maxNumberText
	case KindBoolean:
		return size + len("false")
	}
	sizes := make([]int, len(fd.Options))
	for i, o := range fd.Options {
		sizes[i] = len(strictjson.AppendString(nil, o.Value))
	}
	slices.Sort(sizes)
	n := min(1, len(sizes))
	if fd.Kind == KindMultiSelect {
		size += len("[]")
		if n = len(sizes); fd.MaxItems != nil {
			n = min(n, *fd.MaxItems)
		}
	}
	for _, s := range sizes[len(sizes)-n:] {
		size += s + len(",")
	}
	return size
}

// longestText is the size as JSON of the longest text of most code points.
func (fd *Field) longestText(most int) int {
	const quotes = 2
	switch fd.Format {
	case "":
		// Four bytes a code point, at most; what is escaped takes two.
		return quotes + 4*most
	default:
		// The formats admit printable ASCII alone, and neither a quote
		// nor a backslash.
		_, longest := fd.Format.lengths()
		return quotes + min(most, longest)
	}
}
