// Package strictjson reads JSON that came from someone else: exactly once,
// in order, and without the leniency of encoding/json.
//
// [Parse] checks a whole text against limits before anything is decoded from
// it: one JSON value and nothing after it, valid UTF-8, no lone surrogate, no
// duplicate key, bounded size and depth. What it returns is a [Value], a view
// of the checked bytes that is walked without checking again: objects keep the
// order of their members, numbers and strings keep their raw text, and keys
// match by exact spelling only.
//
// A Value aliases the text that it was parsed from. It is safe for concurrent
// use as long as nobody writes to that text.
package strictjson

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// DefaultDepth is how deep arrays and objects may nest when
// [Limits.MaxDepth] is zero.
const DefaultDepth = 64

// Limits bounds a text before it is decoded. The zero value has no size limit
// and the default depth.
type Limits struct {
	// MaxBytes is the size of the text in bytes; 0 is no limit.
	MaxBytes int
	// MaxDepth is the nesting of arrays and objects; 0 is [DefaultDepth].
	MaxDepth int
	// LoneSurrogates accepts strings with an unpaired surrogate escape
	// ("\ud800"). Such a string has no text ([Value.Text] refuses it), but
	// its raw bytes can be kept and sent back.
	LoneSurrogates bool
}

// Parse checks data and returns it as a [Value]. The error is an [*Error].
func Parse(data []byte, lim Limits) (Value, error) {
	if lim.MaxBytes > 0 && len(data) > lim.MaxBytes {
		return Value{}, &Error{Problem: TooLarge, Limit: lim.MaxBytes, Size: len(data)}
	}
	depth := lim.MaxDepth
	if depth <= 0 {
		depth = DefaultDepth
	}
	if tooDeep(data, depth) {
		return Value{}, &Error{Problem: TooDeep, Limit: depth}
	}
	if lim.LoneSurrogates && !utf8.Valid(data) {
		// The option below would let invalid bytes pass as well.
		return Value{}, &Error{Problem: BadUTF8}
	}
	if err := check(data, lim.LoneSurrogates); err != nil {
		return Value{}, err
	}
	return Value{raw: trim(data)}, nil
}

// checker pairs a decoder with the buffer it reads from, so that a check
// allocates nothing once the pool is warm.
type checker struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

var checkers = sync.Pool{New: func() any { return &checker{dec: new(jsontext.Decoder)} }}

var (
	allowLone = jsontext.AllowInvalidUTF8(true)
	strict    = jsontext.AllowInvalidUTF8(false)
)

// check runs data through jsontext: grammar, UTF-8, surrogates, duplicates and
// trailing text.
func check(data []byte, lone bool) error {
	c := checkers.Get().(*checker)
	// The decoder reads a bytes.Buffer in place; it never writes to it.
	c.buf = *bytes.NewBuffer(data)
	opt := strict
	if lone {
		opt = allowLone
	}
	c.dec.Reset(&c.buf, opt)
	_, err := c.dec.ReadValue()
	if err == nil {
		end := c.dec.InputOffset()
		if _, err = c.dec.ReadToken(); err == io.EOF {
			err = nil
		} else {
			err = &Error{Problem: TrailingText, Offset: end}
		}
	} else {
		err = syntaxError(data, err)
	}
	c.buf = bytes.Buffer{} // do not keep the caller's bytes alive
	c.dec.Reset(&c.buf)
	checkers.Put(c)
	return err
}

// syntaxError turns an error of jsontext into ours.
func syntaxError(data []byte, err error) error {
	if err == io.EOF {
		return &Error{Problem: Syntax, Detail: "there is no value"}
	}
	se, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &Error{Problem: Syntax, Detail: err.Error()}
	}
	out := &Error{Problem: Syntax, Offset: se.ByteOffset}
	out.at(se.JSONPointer)
	switch {
	case errors.Is(se.Err, jsontext.ErrDuplicateName):
		out.Problem = DuplicateKey
		out.Key = se.JSONPointer.LastToken()
		out.at(se.JSONPointer.Parent())
	case !utf8.Valid(data):
		out.Problem = BadUTF8
	case bytes.HasPrefix(data, byteOrderMark):
		out.Detail = "it begins with a byte order mark"
	case errors.Is(se.Err, io.ErrUnexpectedEOF):
		out.Detail = "it ends too early"
	case isSurrogate(data, se.ByteOffset):
		out.Problem = LoneSurrogate
	}
	return out
}

// at says where e is.
func (e *Error) at(p jsontext.Pointer) {
	e.Path, e.Keys = pathOf(p), slices.Collect(p.Tokens())
}

var byteOrderMark = []byte("\ufeff")

// isSurrogate reports whether an escape \uD800 to \uDFFF stands at offset.
func isSurrogate(data []byte, offset int64) bool {
	if offset < 0 || offset+4 > int64(len(data)) {
		return false
	}
	at := data[offset:]
	return at[0] == '\\' && at[1] == 'u' && (at[2] == 'd' || at[2] == 'D') && at[3] >= '8'
}

// tooDeep reports whether arrays and objects nest deeper than limit. Brackets
// inside strings do not count. Nothing else about data is assumed.
func tooDeep(data []byte, limit int) bool {
	if bytes.Count(data, openBrace)+bytes.Count(data, openBracket) <= limit {
		return false // the common case, at the speed of a memory scan
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

var (
	openBrace   = []byte("{")
	openBracket = []byte("[")
)
