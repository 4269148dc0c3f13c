package toolschema

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// CheckPattern reports why JavaScript's new RegExp(p) throws, "nil" when it does
// not. It follows the grammar of ECMA-262 with its Annex B leniency: outside of
// groups, classes and quantifiers nearly everything is legal. Where the two
// would differ by engine it refuses, which costs a tool its pattern and no more.
func CheckPattern(p string) error {
	if !utf8.ValidString(p) {
		return errors.New("it is not valid UTF-8")
	}
	if len(p) > MaxBytes {
		return errors.New("it is longer than a schema may be")
	}
	c := &patternChecker{rest: p, names: map[string]bool{}}
	if err := c.disjunction(0); err != nil {
		return err
	}
	if c.rest != "" {
		return errors.New("a group is closed that was not opened")
	}
	for _, ref := range c.refs {
		if len(c.names) > 0 && !c.names[ref] {
			return errors.New("it refers to a group that does not exist")
		}
	}
	return nil
}

type patternChecker struct {
	rest  string
	names map[string]bool
	refs  []string
}

// maxGroups bounds the nesting that the checker follows.
const maxGroups = 200

func (c *patternChecker) disjunction(depth int) error {
	if depth > maxGroups {
		return errors.New("groups are nested too deep")
	}
	repeatable := false
	for c.rest != "" {
		switch ch := c.rest[0]; ch {
		case ')':
			return nil
		case '|', '^', '$':
			c.rest = c.rest[1:]
			repeatable = false
		case '*', '+', '?':
			if !repeatable {
				return errors.New("nothing to repeat")
			}
			c.rest = strings.TrimPrefix(c.rest[1:], "?")
			repeatable = false
		case '{':
			isQuantifier, err := c.braces()
			if err != nil {
				return err
			}
			if isQuantifier && !repeatable {
				return errors.New("nothing to repeat")
			}
			repeatable = !isQuantifier
		case '(':
			lookbehind, err := c.group(depth)
			if err != nil {
				return err
			}
			repeatable = !lookbehind
		case '[':
			if err := c.class(); err != nil {
				return err
			}
			repeatable = true
		case '\\':
			if err := c.escape(); err != nil {
				return err
			}
			repeatable = true
		default:
			_, n := utf8.DecodeRuneInString(c.rest)
			c.rest = c.rest[n:]
			repeatable = true
		}
	}
	return nil
}

// braces reads {n}, {n,} or {n,m}; anything else after { is literal text.
func (c *patternChecker) braces() (bool, error) {
	end := strings.IndexByte(c.rest, '}')
	if end < 0 {
		c.rest = c.rest[1:]
		return false, nil
	}
	lo, hi, ranged := strings.Cut(c.rest[1:end], ",")
	if !digits(lo) || (ranged && hi != "" && !digits(hi)) {
		c.rest = c.rest[1:]
		return false, nil
	}
	if ranged && hi != "" && lessNumber(hi, lo) {
		return false, errors.New("a quantifier's numbers are out of order")
	}
	c.rest = strings.TrimPrefix(c.rest[end+1:], "?")
	return true, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func lessNumber(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return len(a) < len(b) || (len(a) == len(b) && a < b)
}

// group reads a group of any kind and says whether it is a lookbehind, which
// cannot be repeated.
func (c *patternChecker) group(depth int) (lookbehind bool, err error) {
	c.rest = c.rest[1:]
	if strings.HasPrefix(c.rest, "?") {
		switch {
		case strings.HasPrefix(c.rest, "?:"), strings.HasPrefix(c.rest, "?="), strings.HasPrefix(c.rest, "?!"):
			c.rest = c.rest[2:]
		case strings.HasPrefix(c.rest, "?<="), strings.HasPrefix(c.rest, "?<!"):
			lookbehind = true
			c.rest = c.rest[3:]
		case strings.HasPrefix(c.rest, "?<"):
			name, after, ok := strings.Cut(c.rest[2:], ">")
			if !ok || !groupName(name) || c.names[name] {
				return false, errors.New("bad group name")
			}
			c.names[name] = true
			c.rest = after
		default:
			return false, errors.New("unknown kind of group")
		}
	}
	if err := c.disjunction(depth + 1); err != nil {
		return false, err
	}
	if !strings.HasPrefix(c.rest, ")") {
		return false, errors.New("a group is not closed")
	}
	c.rest = c.rest[1:]
	return lookbehind, nil
}

func groupName(s string) bool {
	for i, r := range s {
		letter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || r == '_' || r == '$'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (c *patternChecker) escape() error {
	if len(c.rest) < 2 {
		return errors.New("it ends in a backslash")
	}
	if name, ok := strings.CutPrefix(c.rest, `\k<`); ok {
		ref, _, closed := strings.Cut(name, ">")
		if closed {
			c.refs = append(c.refs, ref)
		} else {
			c.refs = append(c.refs, "")
		}
	}
	_, n := utf8.DecodeRuneInString(c.rest[1:])
	c.rest = c.rest[1+n:]
	return nil
}

// class reads a character class and refuses ranges that are out of order.
func (c *patternChecker) class() error {
	c.rest = strings.TrimPrefix(c.rest[1:], "^")
	prev, ranged := rune(-1), false
	for c.rest != "" {
		if c.rest[0] == ']' {
			c.rest = c.rest[1:]
			return nil
		}
		if c.rest[0] == '-' && prev >= 0 && !ranged && len(c.rest) > 1 && c.rest[1] != ']' {
			ranged = true
			c.rest = c.rest[1:]
			continue
		}
		r, err := c.classAtom()
		if err != nil {
			return err
		}
		if ranged {
			if r >= 0 && r < prev {
				return errors.New("a range is out of order")
			}
			prev, ranged = -1, false
			continue
		}
		prev = r
	}
	return errors.New("a character class is not closed")
}

// classAtom reads one member of a class; -1 is one that has no single value.
func (c *patternChecker) classAtom() (rune, error) {
	r, n := utf8.DecodeRuneInString(c.rest)
	c.rest = c.rest[n:]
	if r != '\\' {
		return r, nil
	}
	if c.rest == "" {
		return 0, errors.New("it ends in a backslash")
	}
	r, n = utf8.DecodeRuneInString(c.rest)
	c.rest = c.rest[n:]
	switch r {
	case 'd', 'D', 'w', 'W', 's', 'S', 'c', 'x', 'u', 'p', 'P', 'k', 'b', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return -1, nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'f':
		return '\f', nil
	case 'v':
		return '\v', nil
	}
	return r, nil
}
