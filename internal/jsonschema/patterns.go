package jsonschema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the patterns of one schema may take: x{1000} is short to write and a
// thousand instructions to hold and to follow.
const (
	mostPattern      = 4 << 10 // bytes of one
	mostInstructions = 1 << 16 // of all
	mostNotes        = 20      // about patterns that are not checked
)

var errPatternSize = errors.New("the patterns are too large")

// patterns compiles the patterns of a schema, each once. It is for one
// goroutine.
type patterns struct {
	known        map[string]jsonschema.Regexp
	instructions int
	notes        []string // what is not checked
	unnoted      int
}

// sized is a pattern with the number of its instructions.
type sized struct {
	*regexp.Regexp
	instructions int
}

// anything stands for a pattern that does not compile.
type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }

// compile compiles p, and notes it when it cannot. It never fails.
func (ps *patterns) compile(p string) jsonschema.Regexp {
	if re, ok := ps.known[p]; ok {
		return re
	}
	if ps.known == nil {
		ps.known = map[string]jsonschema.Regexp{}
	}
	re, err := ps.fitting(p)
	if err == nil {
		ps.known[p] = re
		return re
	}
	ps.known[p] = anything(p)
	if len(ps.notes) < mostNotes {
		ps.notes = append(ps.notes, fmt.Sprintf("the pattern %.200q", p))
	} else {
		ps.unnoted++
	}
	return anything(p)
}

// fitting compiles p where there is room for it.
func (ps *patterns) fitting(p string) (*sized, error) {
	if len(p) > mostPattern || ps.instructions > mostInstructions {
		return nil, errPatternSize
	}
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	// What does not fit counts, too, so that not every other one is tried.
	if ps.instructions += len(prog.Inst); ps.instructions > mostInstructions {
		return nil, errPatternSize
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, err
	}
	return &sized{re, len(prog.Inst)}, nil
}

// unchecked lists what was not compiled.
func (ps *patterns) unchecked() []string {
	if ps.unnoted == 0 {
		return ps.notes
	}
	return append(ps.notes, fmt.Sprintf("%d more patterns", ps.unnoted))
}

// steps is what matching text takes, in the steps of a stepCounter.
func steps(re jsonschema.Regexp, text string) int {
	const aStep = 64 // instructions, at one byte of the text
	if s, ok := re.(*sized); ok {
		return 1 + len(text)*s.instructions/aStep
	}
	return 1
}
