package forms

import (
	"fmt"
	"unicode/utf8"
)

// Admit is why f is refused up front under lim, nil when it is not: a limit is
// broken, a range is empty, a default does not satisfy its field, no answer
// can exist, or some legal answer could exceed the answer limit. No form may
// be shown that the user can fill in correctly and not submit. The error is an
// [Errors] that names every such field.
func (f Form) Admit(lim Limits) error {
	if errs := f.admit(lim); len(errs) > 0 {
		return errs
	}
	open, errs := f.room(lim)
	if len(errs) == 0 && open < defaultLength {
		_, err := f.settle(open, lim)
		return err
	}
	return errs.Err()
}

// Fit admits f and settles what the server left open: each text field without
// a maxLength gets max(256, minLength), or, where the longest answer would be
// over lim.Answer, 128, 64 or 32 in place of 256. A maxLength above 2,048 becomes
// 2,048. A default that is longer than a length that had to fall is dropped.
// The result is what is sent to a Host and shown.
func (f Form) Fit(lim Limits) (Form, error) {
	if errs := f.admit(lim); len(errs) > 0 {
		return Form{}, errs
	}
	open, errs := f.room(lim)
	if len(errs) > 0 {
		return Form{}, errs
	}
	return f.settle(open, lim)
}

// settle states the length of every text field, open where there was none. A
// form that is so close to the limit of a request that the lengths do not go
// in stays as it is where open is what a reader assumes anyway, and is refused
// where it is less.
func (f Form) settle(open int, lim Limits) (Form, error) {
	out := f
	out.Fields = make([]Field, len(f.Fields))
	for i, fd := range f.Fields {
		if fd.Kind == KindString {
			most := fd.maxLength(open)
			fd.MaxLength = &most
			if fd.Default.Type() == Text && utf8.RuneCountInString(fd.Default.text) > most {
				fd.Default = Value{}
			}
		}
		out.Fields[i] = fd
	}
	if size := sizeOf(out.append); size > lim.Request {
		if open == defaultLength {
			return f, nil
		}
		return Form{}, Errors{f.oversize(size, " with the lengths that it needs", lim)}
	}
	return out, nil
}

// defaultLength is the length that a text without maxLength gets, and lesser
// are the ones it falls to where answers must be small.
const defaultLength = 256

var lesser = []int{128, 64, 32}

// admit checks everything but the room for answers.
func (f *Form) admit(lim Limits) Errors {
	var errs Errors
	whole := func(format string, args ...any) {
		errs = append(errs, FieldError{Rule: RuleSize, Message: fmt.Sprintf(format, args...)})
	}
	if msg := sized(f.Message, 1, lim.Message); msg != "" {
		errs = append(errs, FieldError{Rule: RuleMessage, Message: "the message " + msg})
	}
	if msg := sized(f.Requester.Name, 1, lim.Requester); msg != "" {
		whole("the requester's name %s", msg)
	}
	if msg := sized(f.Requester.Source, 0, lim.Source); msg != "" {
		whole("the requester's source %s", msg)
	}
	if len(f.Fields) > lim.Fields {
		whole("the form has %d fields, at most %d are allowed", len(f.Fields), lim.Fields)
		return errs
	}
	names := make(map[string]bool, len(f.Fields))
	for i := range f.Fields {
		fd := &f.Fields[i]
		errs = append(errs, fd.admit(lim)...)
		if names[fd.Name] {
			errs = append(errs, *fd.fault(RuleUnique, "is the name of two fields"))
		}
		names[fd.Name] = true
	}
	if size := sizeOf(f.append); size > lim.Request {
		errs = append(errs, f.oversize(size, "", lim))
	}
	return errs
}

// oversize says that the form is too large as JSON, and names the largest part
// of it: a field, and what is large about it, or the message.
func (f *Form) oversize(size int, with string, lim Limits) FieldError {
	var largest *Field
	most := len(f.Message)
	for i := range f.Fields {
		if n := sizeOf(f.Fields[i].append); n > most {
			largest, most = &f.Fields[i], n
		}
	}
	of := fmt.Sprintf("of the form, which is %d bytes as JSON%s where at most %d are allowed", size, with, lim.Request)
	if largest == nil {
		return FieldError{Rule: RuleMessage, Message: fmt.Sprintf("the message is the largest part, %d bytes, %s; make it shorter", most, of)}
	}
	rule, what := largest.bulk()
	return *largest.fault(rule, "is the largest part, %d bytes, %s; make %s shorter, or ask for less", most, of, what)
}

// bulk is what of a field takes the most room in the form, and the rule that
// it is about.
func (fd *Field) bulk() (rule, what string) {
	options := 0
	for _, o := range fd.Options {
		options += len(o.Value) + len(o.Label) + len(o.Description)
	}
	words, text := len(fd.Name)+len(fd.Label), len(fd.Default.text)
	switch max(options, len(fd.Description), words, text) {
	case words:
		return RuleSize, "its name and label"
	case options:
		return RuleOptions, "its list of options"
	case text:
		return RuleDefault, "its default"
	}
	return RuleDescription, "its description"
}

// sized says why s has no size from least to most bytes, or is no text.
func sized(s string, least, most int) string {
	switch {
	case len(s) < least:
		return "must not be empty"
	case len(s) > most:
		return fmt.Sprintf("is %d bytes, at most %d are allowed", len(s), most)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	return ""
}

// admit checks one field by itself.
func (fd *Field) admit(lim Limits) Errors {
	var errs Errors
	add := func(rule, format string, args ...any) {
		errs = append(errs, *fd.fault(rule, format, args...))
	}
	if msg := sized(fd.Name, 1, maxName); msg != "" {
		add(RuleSize, "the field name %s", msg)
	}
	if msg := sized(fd.Label, 1, lim.Label); msg != "" {
		add(RuleSize, "the label %s", msg)
	}
	if msg := sized(fd.Description, 0, lim.Description); msg != "" {
		add(RuleSize, "the description %s", msg)
	}
	if msg := fd.foreignMember(); msg != "" {
		add(RuleKind, "%s", msg)
		return errs
	}
	switch fd.Kind {
	case KindString:
		errs = append(errs, fd.admitText()...)
	case KindNumber, KindInteger:
		errs = append(errs, fd.admitNumber()...)
	case KindSingleSelect, KindMultiSelect:
		errs = append(errs, fd.admitOptions(lim)...)
	}
	if len(errs) == 0 && !fd.Default.IsZero() {
		if e := fd.check(fd.Default); e != nil {
			add(RuleDefault, "has a default that does not fit: %s", e.Message)
		}
	}
	return errs
}

// foreignMember says what a field has that its kind does not.
func (fd *Field) foreignMember() string {
	if fd.Kind.valueType() == None {
		return "is of no known kind"
	}
	switch {
	case fd.Kind != KindString && (fd.MinLength != nil || fd.MaxLength != nil || fd.Format != ""):
		return "has lengths or a format, but is no text"
	case fd.Kind != KindNumber && fd.Kind != KindInteger && (fd.Minimum != nil || fd.Maximum != nil):
		return "has a minimum or maximum, but is no number"
	case !fd.HasOptions() && fd.Options != nil:
		return "has options, but is no select"
	case fd.Kind != KindMultiSelect && (fd.MinItems != nil || fd.MaxItems != nil):
		return "has minItems or maxItems, but is no multi_select"
	}
	return ""
}

func (fd *Field) admitText() Errors {
	one := func(rule, format string, args ...any) Errors {
		return Errors{*fd.fault(rule, format, args...)}
	}
	least, most := fd.minLength(), fd.maxLength(defaultLength)
	switch {
	case least < 0 || fd.MaxLength != nil && *fd.MaxLength < 0:
		return one(RuleMinLength, "has a negative length")
	case fd.Format != "" && !fd.Format.known():
		return one(RuleFormat, "has a format that is not one of email, uri, date and date-time")
	case least > maxValueRunes:
		return one(RuleMinLength, "asks for at least %d characters, but a text has at most %d", least, maxValueRunes)
	case least > most:
		return one(RuleMinLength, "asks for at least %d and at most %d characters, which no text has", least, most)
	case !fd.Format.possible(least, most):
		return one(RuleFormat, "asks for %s of %d to %d characters, which does not exist", fd.Format.words(), least, most)
	}
	return nil
}

func (f Format) words() string {
	switch f {
	case FormatEmail:
		return "an e-mail address"
	case FormatURI:
		return "a URI"
	case FormatDate:
		return "a date"
	}
	return "a date and time"
}

func (fd *Field) admitNumber() Errors {
	one := func(rule, format string, args ...any) Errors {
		return Errors{*fd.fault(rule, format, args...)}
	}
	for _, bound := range []struct {
		rule string
		n    *Number
	}{{RuleMinimum, fd.Minimum}, {RuleMaximum, fd.Maximum}} {
		if bound.n == nil {
			continue
		}
		if err := bound.n.check(); err != nil {
			return one(bound.rule, "has a %s that %v", bound.rule, err)
		}
	}
	if fd.Minimum != nil && fd.Maximum != nil && fd.Minimum.Cmp(*fd.Maximum) > 0 {
		return one(RuleMinimum, "asks for at least %s and at most %s, which no number is", fd.Minimum, fd.Maximum)
	}
	if fd.Kind == KindInteger && !fd.holdsInteger() {
		return one(RuleMinimum, "has a range that holds no whole number within ±%d", int64(maxInteger))
	}
	return nil
}

// holdsInteger reports whether some integer within ±(2^53−1) is in the range.
func (fd *Field) holdsInteger() bool {
	low, high := smallestInteger, largestInteger
	if fd.Minimum != nil && fd.Minimum.Cmp(low) > 0 {
		if fd.Minimum.Cmp(high) > 0 {
			return false
		}
		low = fd.Minimum.ceil()
	}
	if fd.Maximum != nil && fd.Maximum.Cmp(high) < 0 {
		if fd.Maximum.Cmp(smallestInteger) < 0 {
			return false
		}
		high = fd.Maximum.floor()
	}
	return low.Cmp(high) <= 0
}

func (fd *Field) admitOptions(lim Limits) Errors {
	var errs Errors
	add := func(rule, format string, args ...any) {
		errs = append(errs, *fd.fault(rule, format, args...))
	}
	if n := len(fd.Options); n == 0 || n > lim.Options {
		add(RuleOptions, "has %d options, from 1 to %d are allowed", n, lim.Options)
		return errs
	}
	values := make(map[string]bool, len(fd.Options))
	labels := make(map[string]bool, len(fd.Options))
	for _, o := range fd.Options {
		switch {
		case badCharacter(o.Value) != "":
			add(RuleOptions, "has an option whose value %s", badCharacter(o.Value))
		case utf8.RuneCountInString(o.Value) > maxValueRunes:
			add(RuleOptions, "has an option whose value is longer than %d characters", maxValueRunes)
		}
		if msg := sized(o.Label, 1, lim.Label); msg != "" {
			add(RuleOptions, "has an option whose label %s", msg)
		}
		if msg := sized(o.Description, 0, lim.Description); msg != "" {
			add(RuleOptions, "has an option whose description %s", msg)
		}
		if values[o.Value] {
			add(RuleUnique, "has two options of the value %s", quoteName(o.Value))
		}
		if labels[o.Label] {
			add(RuleUnique, "has two options of the label %s", quoteName(o.Label))
		}
		values[o.Value], labels[o.Label] = true, true
	}
	return append(errs, fd.admitItems()...)
}

func (fd *Field) admitItems() Errors {
	least, most := 0, len(fd.Options)
	if fd.MinItems != nil {
		least = *fd.MinItems
	}
	if fd.MaxItems != nil {
		most = min(most, *fd.MaxItems)
	}
	switch {
	case least < 0 || most < 0:
		return Errors{*fd.fault(RuleMinItems, "has a negative number of choices")}
	case least > len(fd.Options):
		return Errors{*fd.fault(RuleMinItems, "asks for at least %d of %d options", least, len(fd.Options))}
	case least > most:
		return Errors{*fd.fault(RuleMinItems, "asks for at least %d and at most %d choices, which no list has", least, most)}
	}
	return nil
}
