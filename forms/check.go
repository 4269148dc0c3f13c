package forms

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Check is what is wrong with r as an answer to f, nil when it fits. It is the
// only judge of an answer: terminal, scripts, Host and the MCP side all ask it.
func (f Form) Check(r Result) Errors { return Check(f.Fields, r) }

// Check is [Form.Check] for fields alone.
func Check(fields []Field, r Result) Errors {
	switch r.Action {
	case ActionAccept:
		return checkValues(fields, r.Values)
	case ActionDecline, ActionCancel:
		if len(r.Values) > 0 {
			return Errors{{Rule: RuleUnknown, Message: "only an accepted form has values"}}
		}
		return nil
	}
	return Errors{{Rule: RuleType, Message: `the action must be "accept", "decline" or "cancel"`}}
}

func checkValues(fields []Field, vals Values) Errors {
	var errs Errors
	known := 0
	for i := range fields {
		fd := &fields[i]
		v, ok := vals[fd.Name]
		if ok {
			known++
		}
		if v.IsZero() {
			if fd.Required {
				errs = append(errs, FieldError{fd.Name, RuleRequired, "is required"})
			}
			continue
		}
		if e := fd.check(v); e != nil {
			errs = append(errs, *e)
		}
	}
	if known == len(vals) {
		return errs
	}
	have := make(map[string]bool, len(fields))
	for _, fd := range fields {
		have[fd.Name] = true
	}
	for _, name := range vals.names() {
		if !have[name] {
			errs = append(errs, FieldError{name, RuleUnknown, "is not a field of this form"})
		}
	}
	return errs
}

// Check is what is wrong with v as a value of fd, nil when it fits. Absence
// does not fit; whether it is allowed is for [Form.Check]. Compare the result
// with nil before it goes into an error variable.
func (fd Field) Check(v Value) *FieldError {
	if v.IsZero() {
		return &FieldError{fd.Name, RuleRequired, "is required"}
	}
	return fd.check(v)
}

func (fd *Field) check(v Value) *FieldError {
	if want := fd.Kind.valueType(); v.Type() != want || want == None {
		return fd.fault(RuleType, "must be %s, not %s", want, v.Type())
	}
	switch fd.Kind {
	case KindString:
		return fd.checkText(v.text)
	case KindNumber, KindInteger:
		return fd.checkNumber(v.Number())
	case KindSingleSelect:
		if !fd.hasOption(v.text) {
			return fd.fault(RuleOptions, "must be one of the options: %s", fd.optionList())
		}
	case KindMultiSelect:
		return fd.checkList(v.list)
	}
	return nil
}

// valueType is what a kind is answered with.
func (k Kind) valueType() ValueType {
	switch k {
	case KindString, KindSingleSelect:
		return Text
	case KindNumber, KindInteger:
		return Num
	case KindBoolean:
		return Bool
	case KindMultiSelect:
		return List
	}
	return None
}

func (fd *Field) fault(rule, format string, args ...any) *FieldError {
	return &FieldError{Field: fd.Name, Rule: rule, Message: fmt.Sprintf(format, args...)}
}

func (fd *Field) checkText(s string) *FieldError {
	if msg := badCharacter(s); msg != "" {
		return fd.fault(RuleCharacters, "%s", msg)
	}
	n := utf8.RuneCountInString(s)
	if least := fd.minLength(); n < least {
		return fd.fault(RuleMinLength, "must have at least %s, has %d", characters(least), n)
	}
	if most := fd.maxLength(defaultLength); n > most {
		return fd.fault(RuleMaxLength, "must have at most %s, has %d", characters(most), n)
	}
	if msg := fd.Format.check(s); msg != "" {
		return fd.fault(RuleFormat, "%s", msg)
	}
	return nil
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// badCharacter says what no string value may hold: a C0 control but LF and
// TAB, or bytes that are no UTF-8. It is empty when there is none.
func badCharacter(s string) string {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' {
			return fmt.Sprintf("holds a control character (%s) after %s; remove it",
				characterName(rune(c)), characters(utf8.RuneCountInString(s[:i])))
		}
	}
	if !utf8.ValidString(s) {
		return "holds bytes that are not valid UTF-8"
	}
	return ""
}

func (fd *Field) minLength() int {
	if fd.MinLength == nil {
		return 0
	}
	return *fd.MinLength
}

// Lengths are the shortest and the longest length that a text field takes, in
// code points, also where its maxLength was left open.
func (fd Field) Lengths() (least, most int) { return fd.minLength(), fd.maxLength(defaultLength) }

// maxLength is the effective longest length, where a field without a stated
// one gets open.
func (fd *Field) maxLength(open int) int {
	if fd.MaxLength == nil {
		return max(open, fd.minLength())
	}
	return min(*fd.MaxLength, maxValueRunes)
}

func (fd *Field) checkNumber(n Number) *FieldError {
	if err := n.check(); err != nil {
		return fd.fault(RuleNumber, "%v", err)
	}
	if fd.Kind == KindInteger {
		if !n.IsInteger() {
			return fd.fault(RuleNumber, "must be a whole number")
		}
		if !n.isSafeInteger() {
			return fd.fault(RuleNumber, "must be within ±%d", int64(maxInteger))
		}
	}
	if fd.Minimum != nil && n.Cmp(*fd.Minimum) < 0 {
		return fd.fault(RuleMinimum, "must be at least %s", fd.Minimum)
	}
	if fd.Maximum != nil && n.Cmp(*fd.Maximum) > 0 {
		return fd.fault(RuleMaximum, "must be at most %s", fd.Maximum)
	}
	return nil
}

func (fd *Field) hasOption(value string) bool {
	for i := range fd.Options {
		if fd.Options[i].Value == value {
			return true
		}
	}
	return false
}

// optionList names the options for a message: the values, and the label where
// it says something else.
func (fd *Field) optionList() string {
	const most = 10
	var b strings.Builder
	for i, o := range fd.Options {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(fd.Options)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoteName(o.Value))
		if o.Label != o.Value {
			b.WriteString(" (" + cutTo(Line(o.Label), 60) + ")")
		}
	}
	return b.String()
}

func (fd *Field) checkList(list []string) *FieldError {
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		if !fd.hasOption(s) {
			return fd.fault(RuleOptions, "holds something else than its options: %s", fd.optionList())
		}
		if seen[s] {
			return fd.fault(RuleUnique, "holds %s twice", quoteName(s))
		}
		seen[s] = true
	}
	if fd.MinItems != nil && len(list) < *fd.MinItems {
		return fd.fault(RuleMinItems, "must have at least %s, has %d", choices(*fd.MinItems), len(list))
	}
	if fd.MaxItems != nil && len(list) > *fd.MaxItems {
		return fd.fault(RuleMaxItems, "must have at most %s, has %d", choices(*fd.MaxItems), len(list))
	}
	return nil
}

func choices(n int) string {
	if n == 1 {
		return "1 choice"
	}
	return fmt.Sprintf("%d choices", n)
}

// Canonical is r as it leaves: an integer in plain digits, however it was
// spelt. It expects a result that fits ([Form.Check]) and leaves everything
// else as it is.
func (f Form) Canonical(r Result) Result {
	if r.Action != ActionAccept {
		return Result{Action: r.Action}
	}
	vals := r.Values.Clone()
	for _, fd := range f.Fields {
		if v, ok := vals[fd.Name]; ok {
			vals[fd.Name] = canonical(fd.Kind, v)
		}
	}
	return Accept(vals)
}

func canonical(k Kind, v Value) Value {
	if k == KindInteger && v.Type() == Num && v.Number().check() == nil && v.Number().isSafeInteger() {
		return NumberValue(v.Number().plain())
	}
	return v
}
