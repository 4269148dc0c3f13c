package forms

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Number is an exact decimal: the text that was given, compared by value. The
// zero Number is no number; [ParseNumber] makes one. Two Numbers may be equal
// by [Number.Cmp] and differ in text, as 5 and 5.0 do.
type Number struct{ text string }

// The limits of a number's text, and of an integer.
const (
	maxNumberText = 64
	maxExponent   = 400
	maxInteger    = 1<<53 - 1
)

var (
	errNumberSyntax   = errors.New("is not a number")
	errNumberLong     = fmt.Errorf("must be at most %d characters long", maxNumberText)
	errNumberExponent = fmt.Errorf("must have an exponent between -%d and %d", maxExponent, maxExponent)
)

// ParseNumber reads s by the number grammar of JSON: at most 64 bytes, an
// exponent within ±400. A minus before a value of zero is dropped, since -0
// is 0.
func ParseNumber(s string) (Number, error) {
	n := numberFrom(s)
	if err := n.check(); err != nil {
		return Number{}, err
	}
	return n, nil
}

// NumberOf is the Number of an int.
func NumberOf(i int) Number { return Number{text: fmt.Sprint(i)} }

// numberFrom keeps s as it is, for text that follows the JSON grammar but may
// break a limit. It drops the minus of a zero.
func numberFrom(s string) Number {
	if strings.HasPrefix(s, "-") && grammatical(s) && !strings.ContainsAny(mantissa(s), "123456789") {
		s = s[1:]
	}
	return Number{text: s}
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

// check reports why n is not a number within the limits.
func (n Number) check() error {
	if !grammatical(n.text) {
		return errNumberSyntax
	}
	if len(n.text) > maxNumberText {
		return errNumberLong
	}
	if i := strings.IndexAny(n.text, "eE"); i >= 0 {
		if e := exponent(n.text[i+1:]); e < -maxExponent || e > maxExponent {
			return errNumberExponent
		}
	}
	return nil
}

// grammatical reports whether s follows the number grammar of JSON.
func grammatical(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	n := digits()
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	s = s[n:]
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if n = digits(); n == 0 {
			return false
		}
		s = s[n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if n = digits(); n == 0 {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

// exponent is the value of a grammatical exponent, held within ±1e6 so that it
// cannot overflow.
func exponent(s string) int {
	neg := strings.HasPrefix(s, "-")
	e := 0
	for _, c := range strings.TrimLeft(s, "+-") {
		if e = e*10 + int(c-'0'); e > 1e6 {
			e = 1e6
		}
	}
	if neg {
		return -e
	}
	return e
}

// decimal is a number taken apart: ±0.DIGITS × 10^exp, DIGITS without zeros at
// either end, and empty for zero.
type decimal struct {
	neg    bool
	digits string
	exp    int
}

func (n Number) decimal() decimal {
	s := n.text
	var d decimal
	if s, d.neg = strings.CutPrefix(s, "-"); s == "" {
		return decimal{}
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		d.exp = exponent(s[i+1:])
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.exp += len(whole)
	d.digits = whole + fraction
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exp -= len(d.digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) cmp(o decimal) int {
	switch {
	case d.digits == "" && o.digits == "":
		return 0
	case d.digits == "":
		return -o.sign()
	case o.digits == "":
		return d.sign()
	case d.neg != o.neg:
		return d.sign()
	}
	size := 0
	switch {
	case d.exp < o.exp:
		size = -1
	case d.exp > o.exp:
		size = 1
	default:
		// Same magnitude: without zeros at the end, the order of the
		// digits is the order of the strings.
		size = strings.Compare(d.digits, o.digits)
	}
	return size * d.sign()
}

func (d decimal) sign() int {
	if d.neg {
		return -1
	}
	return 1
}

// Cmp compares by exact value: -1, 0 or +1.
func (n Number) Cmp(o Number) int { return n.decimal().cmp(o.decimal()) }

// IsZero reports whether n is no number at all (not whether its value is 0).
func (n Number) IsZero() bool { return n.text == "" }

// IsInteger reports whether n has no fraction: 5.0 and 1e3 are integers.
func (n Number) IsInteger() bool {
	d := n.decimal()
	return len(d.digits) <= d.exp || d.digits == ""
}

// String is the decimal text that was given.
func (n Number) String() string { return n.text }

// MarshalJSON writes the decimal text that was given.
func (n Number) MarshalJSON() ([]byte, error) {
	if n.text == "" {
		return []byte("null"), nil
	}
	return []byte(n.text), nil
}

// plain is the integer n in plain digits: 1000 for 1e3. It must be an integer
// within ±(2^53−1), which keeps the text short.
func (n Number) plain() Number {
	d := n.decimal()
	if d.digits == "" {
		return Number{text: "0"}
	}
	text := d.digits + strings.Repeat("0", d.exp-len(d.digits))
	if d.neg {
		text = "-" + text
	}
	return Number{text: text}
}

var (
	largestInteger  = Number{text: "9007199254740991"}
	smallestInteger = Number{text: "-9007199254740991"}
)

// isSafeInteger reports whether n is an integer within ±(2^53−1).
func (n Number) isSafeInteger() bool {
	return n.IsInteger() && n.Cmp(largestInteger) <= 0 && n.Cmp(smallestInteger) >= 0
}

// floor is the largest integer that is not above n, and ceil the smallest that
// is not below it. Both are for n within ±(2^53−1), where the text stays short.
func (n Number) floor() Number { return n.round(true) }
func (n Number) ceil() Number  { return n.round(false) }

func (n Number) round(down bool) Number {
	if n.IsInteger() {
		return n.plain()
	}
	d := n.decimal()
	whole := decimal{neg: d.neg, exp: d.exp}
	if d.exp > 0 {
		whole.digits = d.digits[:d.exp]
	}
	cut := whole.number()
	if d.neg == down { // the cut went the wrong way: one further
		step := 1
		if down {
			step = -1
		}
		return cut.add(step)
	}
	return cut
}

// number is the integer d, whose digits reach down to the ones.
func (d decimal) number() Number {
	if d.digits == "" {
		return Number{text: "0"}
	}
	if d.neg {
		return Number{text: "-" + d.digits}
	}
	return Number{text: d.digits}
}

// add is n plus step, for an integer n within ±2^53.
func (n Number) add(step int) Number {
	i, _ := strconv.ParseInt(n.text, 10, 64)
	return Number{text: strconv.FormatInt(i+int64(step), 10)}
}
