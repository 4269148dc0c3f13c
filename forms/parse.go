package forms

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseText turns what a person typed for fd into a value: the same rules in
// the terminal form, in line mode and for --set. Nothing is trimmed or guessed
// in silence. The error is a [FieldError] whose message says what to type.
//
//   - A text is taken as it is; an empty text is a value.
//   - A number follows the number grammar of JSON and keeps its text; an
//     integer is plain digits within ±(2^53−1).
//   - A boolean is true, false, yes, no, y or n in any case.
//   - An option is its value, else its label.
//   - Several options stand with commas between them; an empty text is the
//     empty list. An option that holds a comma is found as a whole.
func ParseText(fd Field, text string) (Value, error) {
	v, msg := fd.parse(text)
	if msg != nil {
		return Value{}, *msg
	}
	if e := fd.check(v); e != nil {
		if fd.Kind == KindString && fd.Format != "" {
			// No format has room for a blank, and none that is at an end shows.
			if odd := fd.strange(text, e.Rule); odd != nil && e.Rule != RuleCharacters {
				e = odd
			}
		}
		return Value{}, *e
	}
	return v, nil
}

func (fd *Field) parse(text string) (Value, *FieldError) {
	switch fd.Kind {
	case KindString:
		return TextValue(text), nil
	case KindNumber:
		return fd.parseNumber(text)
	case KindInteger:
		return fd.parseInteger(text)
	case KindBoolean:
		return fd.parseBool(text)
	case KindSingleSelect:
		if value, ok := fd.option(text); ok {
			return TextValue(value), nil
		}
		return Value{}, fd.noOption(text)
	case KindMultiSelect:
		return fd.parseList(text)
	}
	return Value{}, fd.fault(RuleKind, "is of no known kind")
}

func (fd *Field) parseNumber(text string) (Value, *FieldError) {
	n, err := ParseNumber(text)
	if err == nil {
		return NumberValue(n), nil
	}
	if e := fd.strange(text, RuleNumber); e != nil {
		return Value{}, e
	}
	plain := keyboard(text)
	switch {
	case err != errNumberSyntax:
		return Value{}, fd.fault(RuleNumber, "%v", err)
	case text == "":
		return Value{}, fd.fault(RuleNumber, "is not a number; nothing was typed")
	case plain != text && grammatical(plain):
		return Value{}, fd.fault(RuleNumber, "is not a number; write it as %s, with plain digits, minus and point", plain)
	case strings.Count(text, ",") == 1 && grouped(text, ","):
		return Value{}, fd.fault(RuleNumber, "is not a number; write %s, or %s where the comma parts the decimals", strip(text, ","), decimalComma(text))
	case grammatical(decimalComma(text)):
		return Value{}, fd.fault(RuleNumber, "is not a number; use a point as in %s", decimalComma(text))
	case strings.ContainsAny(text, ","+separators) && grammatical(strip(text, ","+separators)):
		return Value{}, fd.fault(RuleNumber, "is not a number; leave out the separators as in %s", strip(text, ","+separators))
	case strings.HasPrefix(text, "+"):
		return Value{}, fd.fault(RuleNumber, "is not a number; leave out the plus sign")
	case grammatical(completed(text)):
		return Value{}, fd.fault(RuleNumber, "is not a number; write it as %s", completed(text))
	}
	return Value{}, fd.fault(RuleNumber, "is not a number; write it like -12.5 or 1e6")
}

func (fd *Field) parseInteger(text string) (Value, *FieldError) {
	n, err := ParseNumber(text)
	if err == nil && strings.ContainsAny(text, ".eE") {
		switch {
		case n.isSafeInteger() && grouped(text, "."):
			return Value{}, fd.fault(RuleNumber, "must be written in plain digits: %s, or %s where the point parts the thousands", n.plain(), strip(text, "."))
		case n.isSafeInteger():
			return Value{}, fd.fault(RuleNumber, "must be written in plain digits: %s", n.plain())
		}
		return Value{}, fd.fault(RuleNumber, "must be a whole number in plain digits")
	}
	if err == nil {
		return NumberValue(n), nil
	}
	if err == errNumberLong && !strings.ContainsAny(text, ".eE") {
		return Value{}, fd.fault(RuleNumber, "must be within ±%d", int64(maxInteger))
	}
	if e := fd.strange(text, RuleNumber); e != nil {
		return Value{}, e
	}
	plain := keyboard(text)
	switch {
	case text == "":
		return Value{}, fd.fault(RuleNumber, "is not a whole number; nothing was typed")
	case plain != text && isPlainInteger(plain):
		return Value{}, fd.fault(RuleNumber, "is not a whole number; write it as %s, with plain digits and minus", plain)
	case grouped(text, ",."+separators):
		return Value{}, fd.fault(RuleNumber, "is not a whole number; leave out the separators as in %s", strip(text, ",."+separators))
	case strings.HasPrefix(text, "+"):
		return Value{}, fd.fault(RuleNumber, "is not a whole number; leave out the plus sign")
	case isPlainInteger(completed(text)) && !strings.Contains(text, "."):
		return Value{}, fd.fault(RuleNumber, "is not a whole number; leave out the leading zeros")
	}
	return Value{}, fd.fault(RuleNumber, "is not a whole number; write it in plain digits like 42")
}

func isPlainInteger(s string) bool {
	return grammatical(s) && !strings.ContainsAny(s, ".eE")
}

// separators part the thousands of a number in one place or another, beside the
// point and the comma, which may mean something else.
const separators = "_'’ \u00a0\u2009\u202f"

// decimalComma rewrites a number whose one comma parts the decimals, as in 1.000,5, or is empty.
func decimalComma(s string) string {
	whole, rest, ok := strings.Cut(s, ",")
	if !ok || strings.ContainsAny(rest, ",."+separators) {
		return ""
	}
	return strip(whole, "."+separators) + "." + rest
}

// grouped reports a whole number whose digits stand in groups with one kind of
// seps between them: the last of three digits, others of two or three. Without
// its separators any other text would be another number.
func grouped(s, seps string) bool {
	i := strings.IndexAny(s, seps)
	if i < 0 {
		return false
	}
	sep, _ := utf8.DecodeRuneInString(s[i:])
	groups := strings.Split(strings.TrimPrefix(s, "-"), string(sep))
	for i, g := range groups {
		_, ok := digits(g)
		if !ok || g == "" || len(g) > 3 || i > 0 && len(g) < 2 || i == len(groups)-1 && len(g) != 3 {
			return false
		}
	}
	return isPlainInteger(strip(s, string(sep)))
}

// completed is a number as the grammar wants it, where zeros at its ends are
// all that is wrong: 5 for 005 and 5., 0.5 for .5.
func completed(s string) string {
	digits, minus := strings.CutPrefix(s, "-")
	if digits = strings.TrimSuffix(digits, "."); digits == "" {
		return ""
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" || !isDigit(digits[0]) {
		digits = "0" + digits
	}
	if minus {
		return "-" + digits
	}
	return digits
}

// keyboard rewrites the digits of other scripts, and signs that look like a
// minus or a point, to those of a number.
func keyboard(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case 0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xfe63, 0xff0d:
			return '-'
		case 0x66b, 0xff0e:
			return '.'
		}
		if r > 0x7f && unicode.IsDigit(r) {
			return '0' + digitOf(r)
		}
		return r
	}, s)
}

// digitOf is the value of a decimal digit: each script has ten in a row.
func digitOf(r rune) rune {
	for _, span := range unicode.Nd.R16 {
		if rune(span.Lo) <= r && r <= rune(span.Hi) {
			return (r - rune(span.Lo)) % 10
		}
	}
	for _, span := range unicode.Nd.R32 {
		if rune(span.Lo) <= r && r <= rune(span.Hi) {
			return (r - rune(span.Lo)) % 10
		}
	}
	return 0
}

func strip(s, chars string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(chars, r) {
			return -1
		}
		return r
	}, s)
}

func (fd *Field) parseBool(text string) (Value, *FieldError) {
	switch strings.ToLower(text) {
	case "true", "yes", "y":
		return BoolValue(true), nil
	case "false", "no", "n":
		return BoolValue(false), nil
	}
	if e := fd.strange(text, RuleType); e != nil {
		return Value{}, e
	}
	return Value{}, fd.fault(RuleType, "must be yes or no (or true, false, y, n)")
}

// strange names what does not show in a text that should be a word or a
// number: blanks around it, hidden characters, a line break.
func (fd *Field) strange(text, rule string) *FieldError {
	if msg := hiddenIn(text); msg != "" {
		return fd.fault(rule, "%s; remove it", msg)
	}
	lead, tail := strings.TrimLeftFunc(text, isBlankRune) != text, strings.TrimRightFunc(text, isBlankRune) != text
	switch {
	case !lead && !tail:
		return nil
	case strings.TrimFunc(text, isBlankRune) == "":
		return fd.fault(rule, "holds nothing but blanks")
	case lead && tail:
		return fd.fault(rule, "has blanks before and after it; remove them")
	case lead:
		return fd.fault(rule, "begins with a blank; remove it")
	case strings.HasSuffix(text, "\n"):
		return fd.fault(rule, "ends with a blank (a line break); remove it")
	}
	return fd.fault(rule, "ends with a blank; remove it")
}

// isBlankRune reports a character that shows as nothing but room, and that a
// text may hold.
func isBlankRune(r rune) bool { return r == '\n' || r == '\t' || unicode.Is(unicode.Zs, r) }

// hiddenIn names the first character of s that does not show, but for LF, TAB
// and what the projection keeps, or one mark too many on its base; it is empty
// when there is none.
func hiddenIn(s string) string {
	if Block(s) == s {
		return ""
	}
	runes, marks := 0, 0
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return fmt.Sprintf("holds a byte that is not valid UTF-8 after %s", characters(runes))
			}
		}
		switch {
		case r == '\n' || r == '\t':
			marks = 0
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029,
			isHidden(r) && isEscaped(s, i):
			return fmt.Sprintf("holds a hidden character (%s) after %s", characterName(r), characters(runes))
		case isHidden(r): // joins or draws the pictograph before it
		case isMark(r):
			if marks++; marks > maxMarks {
				return fmt.Sprintf("holds more than %d marks on one character (%s) after %s", maxMarks, characterName(r), characters(runes))
			}
		default:
			marks = 0
		}
		runes++
	}
	return ""
}

// isEscaped reports whether the projection escapes the character of s at i,
// which is for one that may join two pictographs or choose how one is drawn.
func isEscaped(s string, i int) bool {
	end := i
	for range 2 { // what follows decides, too
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return strings.HasPrefix(Block(s[:end])[len(Block(s[:i])):], `\u{`)
}

// Remarks say what a person should know about a text value that is legal, and
// does not show as it is: blanks at its ends, hidden characters, tabs, line
// breaks at its end. They are for the review before it is sent.
func Remarks(v Value) []string {
	if v.Type() != Text {
		return nil
	}
	s := v.text
	var out []string
	if msg := hiddenIn(s); msg != "" {
		out = append(out, msg)
	}
	if before, _, tab := strings.Cut(s, "\t"); tab {
		out = append(out, fmt.Sprintf("holds a tab, which shows as a space, after %s", characters(utf8.RuneCountInString(before))))
	}
	if strings.TrimLeftFunc(s, isBlankRune) != s {
		out = append(out, "begins with a blank")
	}
	switch {
	case strings.HasSuffix(s, "\n"):
		out = append(out, "ends with a line break")
	case strings.TrimRightFunc(s, isBlankRune) != s:
		out = append(out, "ends with a blank")
	}
	return out
}

// option finds an option by value, else by label as it stands or as it is
// shown.
func (fd *Field) option(text string) (value string, ok bool) {
	for i := range fd.Options {
		if fd.Options[i].Value == text {
			return text, true
		}
	}
	for i := range fd.Options {
		if o := &fd.Options[i]; o.Label == text || Line(o.Label) == text {
			return o.Value, true
		}
	}
	return "", false
}

func (fd *Field) noOption(text string) *FieldError {
	if trimmed := strings.TrimFunc(text, isBlankRune); trimmed != text {
		if _, ok := fd.option(trimmed); ok {
			if e := fd.strange(text, RuleOptions); e != nil {
				return e
			}
		}
	}
	if msg := hiddenIn(text); msg != "" {
		return fd.fault(RuleOptions, "%s; remove it", msg)
	}
	for _, o := range fd.Options {
		if strings.EqualFold(o.Value, text) || strings.EqualFold(o.Label, text) {
			return fd.fault(RuleOptions, "is not one of the options; did you mean %s?", quoteName(o.Value))
		}
	}
	return fd.fault(RuleOptions, "is not one of the options: %s", fd.optionList())
}

// parseList reads options with commas between them. At each place the longest
// text that is an option counts, so that an option may hold commas itself.
func (fd *Field) parseList(text string) (Value, *FieldError) {
	if value, ok := fd.option(text); ok {
		return ListValue([]string{value}), nil
	}
	if text == "" {
		return ListValue(nil), nil
	}
	pieces := strings.Split(text, ",")
	if len(pieces) > maxPieces {
		return Value{}, fd.fault(RuleOptions, "holds more than %d commas", maxPieces-1)
	}
	var list []string
	for len(pieces) > 0 {
		n := len(pieces)
		value, ok := "", false
		for ; n > 0; n-- {
			if value, ok = fd.option(strings.Join(pieces[:n], ",")); ok {
				break
			}
		}
		if !ok {
			return Value{}, fd.noOption(pieces[0])
		}
		list = append(list, value)
		pieces = pieces[n:]
	}
	return ListValue(list), nil
}

// maxPieces bounds the search of parseList; there are never more options.
const maxPieces = 512
