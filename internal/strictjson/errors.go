package strictjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Problem names what is wrong with a text.
type Problem string

// The problems that an [Error] can name.
const (
	Syntax        Problem = "syntax"
	TooLarge      Problem = "too_large"
	TooDeep       Problem = "too_deep"
	BadUTF8       Problem = "bad_utf8"
	LoneSurrogate Problem = "lone_surrogate"
	DuplicateKey  Problem = "duplicate_key"
	TrailingText  Problem = "trailing_text"
	UnknownKey    Problem = "unknown_key"
	MissingKey    Problem = "missing_key"
	WrongType     Problem = "wrong_type"
	NotInteger    Problem = "not_integer"
	BadValue      Problem = "bad_value"
)

// Error says what is wrong with a text and where. Its message quotes keys, but
// never a value: values may be secrets.
type Error struct {
	Problem Problem
	Path    string   // where: `fields[2].label`; empty at the top
	Keys    []string // the same place by its keys and indices, whole and one by one; set by [Parse] alone
	Key     string   // for DuplicateKey, UnknownKey and MissingKey
	Want    Kind     // for WrongType
	Got     Kind     // for WrongType
	Limit   int      // for TooLarge and TooDeep
	Size    int      // for TooLarge
	Offset  int64    // bytes into the text, for syntax errors; 0 where unknown
	Detail  string   // more words, for Syntax and BadValue
}

// Error is a sentence without the final stop.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.sentence()
	}
	return e.Path + ": " + e.sentence()
}

func (e *Error) sentence() string {
	switch e.Problem {
	case TooLarge:
		return fmt.Sprintf("is %d bytes, at most %d are read", e.Size, e.Limit)
	case TooDeep:
		return fmt.Sprintf("nests deeper than %d levels", e.Limit)
	case BadUTF8:
		return "is not valid UTF-8"
	case LoneSurrogate:
		return "holds half of a surrogate pair"
	case DuplicateKey:
		return "key " + quoteKey(e.Key) + " stands twice"
	case TrailingText:
		return fmt.Sprintf("text after the JSON value (byte %d)", e.Offset)
	case UnknownKey:
		return "unknown key " + quoteKey(e.Key)
	case MissingKey:
		return "key " + quoteKey(e.Key) + " is missing"
	case WrongType:
		if e.Got == None {
			return "must be " + article(e.Want)
		}
		return "must be " + article(e.Want) + ", not " + article(e.Got)
	case NotInteger:
		return "must be a whole number in plain digits"
	case BadValue:
		return e.Detail
	}
	out := "is not JSON"
	if e.Detail != "" {
		out += ": " + e.Detail
	}
	if e.Offset > 0 {
		out += fmt.Sprintf(" (byte %d)", e.Offset)
	}
	return out
}

func article(k Kind) string {
	switch k {
	case Array, Object:
		return "an " + string(k)
	case Null:
		return "null"
	}
	return "a " + string(k)
}

// quoteKey quotes a key for a message, shortened and with every character that
// does not print escaped.
func quoteKey(k string) string {
	const most = 64
	if len(k) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(k[cut]) {
			cut--
		}
		k = k[:cut] + "…"
	}
	return strconv.Quote(k)
}

// Unknown is the error for a key that the shape does not have.
func Unknown(key string) error { return &Error{Problem: UnknownKey, Key: key} }

// Missing is the error for a key that the shape needs.
func Missing(key string) error { return &Error{Problem: MissingKey, Key: key} }

// Bad is the error for a value that is of the right type but not allowed. The
// words complete a sentence about the value and must not quote it.
func Bad(format string, args ...any) error {
	return &Error{Problem: BadValue, Detail: fmt.Sprintf(format, args...)}
}

// At puts a key in front of the path of err, or of its message when err is no
// [*Error]. It returns nil for nil.
func At(key string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && err == error(e) {
		out := *e
		out.Path = join(pathKey(key), e.Path)
		return &out
	}
	return fmt.Errorf("%s: %w", pathKey(key), err)
}

// AtIndex puts an array index in front of the path of err, as [At] does a key.
func AtIndex(i int, err error) error {
	if err == nil {
		return nil
	}
	index := "[" + strconv.Itoa(i) + "]"
	if e, ok := errors.AsType[*Error](err); ok && err == error(e) {
		out := *e
		out.Path = join(index, e.Path)
		return &out
	}
	return fmt.Errorf("%s: %w", index, err)
}

func join(head, tail string) string {
	switch {
	case tail == "":
		return head
	case tail[0] == '[':
		return head + tail
	}
	return head + "." + tail
}

// pathKey is a key as it stands in a path: bare when it is a plain word.
func pathKey(k string) string {
	if k == "" || len(k) > 64 {
		return quoteKey(k)
	}
	for _, r := range k {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return quoteKey(k)
		}
	}
	return k
}

// pathOf writes a JSON pointer as a path. An index into an array cannot be
// told from a numeric key there, and reads as an index.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	for tok := range p.Tokens() {
		if _, err := strconv.ParseUint(tok, 10, 32); err == nil {
			b.WriteString("[" + tok + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(pathKey(tok))
		if b.Len() > 256 {
			b.WriteString("…")
			break
		}
	}
	return b.String()
}
