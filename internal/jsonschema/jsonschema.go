// Package jsonschema checks tool arguments and results against the JSON Schema
// that a server gave.
//
// A schema is compiled when it is first needed. What cannot be compiled is not
// checked: a schema with a remote $ref (nothing is ever fetched), an unknown
// dialect's keywords, a pattern that is no RE2 expression or is too large. Unchecked says what
// that is, for a log or a panel; Check then lets everything through that the
// rest of the schema does, and also a value that takes too long to hold to it.
package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxBytes is the largest schema that is compiled.
const MaxBytes = 1 << 20

// Schema is one schema. Its methods may be called concurrently.
type Schema struct {
	once      sync.Once
	raw       []byte
	compiled  *jsonschema.Schema
	unchecked []string
}

// New keeps raw, which must not change afterwards, and does nothing yet.
func New(raw []byte) *Schema { return &Schema{raw: raw} }

// Error is the first place where a value does not satisfy its schema. Neither
// part holds anything of the value itself.
type Error struct {
	Path    string // "" for the value itself, else like `a.b[2]`
	Message string // completes a sentence: "must be string"
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Check reports where value, one JSON text, does not satisfy the schema: an
// *Error, or nil when it does, nothing can be checked or the check takes too long.
func (s *Schema) Check(value []byte) error {
	s.compile()
	if s.compiled == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &Error{Message: "is not JSON"}
	}
	if at, bad := hugeNumber(v, ""); bad {
		return &Error{Path: at, Message: "is a number that is too large to check"}
	}
	if !affordable(s.compiled, v) {
		return nil
	}
	return violation(s.compiled.Validate(v))
}

// Unchecked compiles the schema if need be, and lists what of it is not
// checked: nil when all is.
func (s *Schema) Unchecked() []string {
	s.compile()
	return slices.Clone(s.unchecked)
}

const location = "urn:askback:schema"

var errRemote = errors.New("references outside the schema are not followed")

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errRemote }

func (s *Schema) compile() {
	s.once.Do(func() {
		var ps patterns
		built := false
		compiled, err := s.build(func(p string) (jsonschema.Regexp, error) {
			if built {
				// The format "regex" asks for a value, whose text is for no note.
				return anything(p), nil
			}
			return ps.compile(p), nil
		})
		built = true
		s.unchecked = ps.unchecked()
		if err != nil {
			s.unchecked = append(s.unchecked, "the schema: "+err.Error())
			return
		}
		s.compiled = compiled
	})
}

func (s *Schema) build(engine jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	if len(s.raw) > MaxBytes {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.raw))
	if err != nil {
		return nil, errors.New("it is not JSON")
	}
	if _, bad := hugeNumber(doc, ""); bad {
		return nil, errors.New("it holds a number that is too large")
	}
	if severalTargets(doc) {
		return nil, errors.New("its dynamic references have several targets")
	}
	if costly(doc) {
		return nil, errors.New("its references multiply beyond what can be checked")
	}
	if obj, ok := doc.(map[string]any); ok {
		// A dialect that is not known is read as the newest; the base of
		// relative references is the schema itself.
		if url, _ := obj["$schema"].(string); !knownDialect(url) {
			delete(obj, "$schema")
		}
		delete(obj, "$id")
		delete(obj, "id")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(location, doc); err != nil {
		return nil, errors.New("it cannot be read")
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, brief(err)
	}
	return compiled, nil
}

func knownDialect(url string) bool {
	switch url {
	case "http://json-schema.org/draft-04/schema", "http://json-schema.org/draft-04/schema#",
		"http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-06/schema#",
		"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema":
		return true
	}
	return false
}

// brief is why a schema does not compile, without the library's locations.
func brief(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &load):
		return errRemote
	case errors.As(err, &invalid):
		return errors.New("it is not a valid schema")
	}
	return errors.New("it cannot be compiled")
}
