// Package play runs the terminal program from a script on an emulated screen and compares what it shows with
// golden frames.
package play

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// The limits of a script.
const (
	maxLine              = 64 << 10
	maxSteps             = 10_000
	minWidth, maxWidth   = 20, 500
	minHeight, maxHeight = 5, 200
)

// Verb is the first word of a line.
type Verb string

// The verbs of a script, one a line.
const (
	VerbRun        Verb = "run"         // run demo | run --config FILE
	VerbSize       Verb = "size"        // size 80x24
	VerbType       Verb = "type"        // type "text"
	VerbKey        Verb = "key"         // key ctrl+s enter
	VerbPaste      Verb = "paste"       // paste "text"
	VerbWait       Verb = "wait"        // wait "text" | wait 90s (moves the clock)
	VerbWaitForm   Verb = "wait-form"   // until a form has the keyboard
	VerbSnapshot   Verb = "snapshot"    // snapshot NAME
	VerbExpectExit Verb = "expect-exit" // expect-exit 0
)

// Step is one line of a script.
type Step struct {
	Line          int // from 1
	Verb          Verb
	Text          string        // type, paste, wait for a text, snapshot's name
	Args          []string      // run
	Keys          []tea.KeyMsg  // key
	Width, Height int           // size
	Duration      time.Duration // wait for a time
	Exit          int           // expect-exit
}

// ParseError says which line of a script is wrong and why.
type ParseError struct {
	Line    int
	Message string
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Parse reads a script whole. Nothing runs when a line is wrong.
func Parse(r io.Reader) ([]Step, error) {
	var steps []Step
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	for n := 1; in.Scan(); n++ {
		text := in.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // the byte order mark of some editors
		}
		words, err := split(text)
		if err == nil && len(words) > 0 {
			var s Step
			if s, err = parseStep(words); err == nil && s.Verb == VerbSnapshot {
				err = once(steps, s.Text)
			}
			if err == nil {
				s.Line = n
				steps = append(steps, s)
			}
		}
		if err == nil && len(steps) > maxSteps {
			err = fmt.Errorf("more than %d steps", maxSteps)
		}
		if err != nil {
			return nil, &ParseError{n, err.Error()}
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading the script: %w", err)
	}
	if len(steps) == 0 {
		return nil, &ParseError{1, "the script is empty"}
	}
	return steps, nil
}

// once refuses a second frame of one name: they would have one file.
func once(steps []Step, name string) error {
	for _, s := range steps {
		if s.Verb == VerbSnapshot && s.Text == name {
			return fmt.Errorf("snapshot %s: line %d has that name already", name, s.Line)
		}
	}
	return nil
}

// word is one word of a line; a quoted one is a text even where it looks like something else.
type word struct {
	text   string
	quoted bool
}

// split cuts a line into words: Go string literals or runs of what is no blank. A # at the start of a word
// begins a comment.
func split(line string) ([]word, error) {
	if !utf8.ValidString(line) {
		return nil, errors.New("not UTF-8")
	}
	var words []word
	for rest := strings.TrimLeft(line, " \t\r"); rest != "" && rest[0] != '#'; rest = strings.TrimLeft(rest, " \t\r") {
		if rest[0] != '"' && rest[0] != '`' {
			end := strings.IndexAny(rest, " \t\r")
			if end < 0 {
				end = len(rest)
			}
			words = append(words, word{text: rest[:end]})
			rest = rest[end:]
			continue
		}
		lit, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("a quoted text that does not end or is no Go string: %s", rest)
		}
		text, err := strconv.Unquote(lit)
		if err != nil {
			return nil, fmt.Errorf("%s is no Go string", lit)
		}
		words = append(words, word{text, true})
		rest = rest[len(lit):]
	}
	return words, nil
}

var (
	sizePattern = regexp.MustCompile(`^([0-9]{1,4})x([0-9]{1,4})$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

func parseStep(words []word) (Step, error) {
	s := Step{Verb: Verb(words[0].text)}
	args := words[1:]
	switch s.Verb {
	case VerbRun:
		return parseRun(s, args)
	case VerbKey:
		return parseKeys(s, args)
	case VerbWaitForm:
		if err := want(args, 0, "no word"); err != nil {
			return s, fmt.Errorf("wait-form takes %w", err)
		}
		return s, nil
	}
	if err := want(args, 1, "one word or one quoted text"); err != nil {
		if _, known := verbs[s.Verb]; !known {
			return s, unknownVerb(s.Verb)
		}
		return s, fmt.Errorf("%s takes %w", s.Verb, err)
	}
	a := args[0]
	switch s.Verb {
	case VerbType, VerbPaste:
		s.Text = a.text
	case VerbWait:
		d, err := time.ParseDuration(a.text)
		if a.quoted || err != nil {
			s.Text = a.text
		} else if s.Duration = d; d <= 0 {
			return s, fmt.Errorf("wait %s: a time runs forwards", a.text)
		}
	case VerbSnapshot:
		if s.Text = a.text; !namePattern.MatchString(a.text) {
			return s, fmt.Errorf("snapshot %q: a name is letters, digits, '_', '.' and '-'", a.text)
		}
	case VerbSize:
		return parseSize(s, a.text)
	case VerbExpectExit:
		n, err := strconv.Atoi(a.text)
		if s.Exit = n; err != nil || n < 0 || n > 255 {
			return s, fmt.Errorf("expect-exit %q: an exit code is 0 to 255", a.text)
		}
	default:
		return s, unknownVerb(s.Verb)
	}
	return s, nil
}

var verbs = map[Verb]struct{}{VerbRun: {}, VerbSize: {}, VerbType: {}, VerbKey: {}, VerbPaste: {}, VerbWait: {},
	VerbWaitForm: {}, VerbSnapshot: {}, VerbExpectExit: {}}

func unknownVerb(v Verb) error {
	return fmt.Errorf("%q is no command; there are run, size, type, key, paste, wait, wait-form, snapshot and expect-exit", string(v))
}

func want(args []word, n int, what string) error {
	if len(args) != n {
		return errors.New(what)
	}
	return nil
}

func parseRun(s Step, args []word) (Step, error) {
	for _, a := range args {
		s.Args = append(s.Args, a.text)
	}
	demo := len(args) == 1 && args[0].text == "demo"
	config := len(args) == 2 && args[0].text == "--config"
	if !demo && !config {
		return s, errors.New("run takes 'demo' or '--config FILE'")
	}
	return s, nil
}

func parseSize(s Step, text string) (Step, error) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return s, fmt.Errorf("size %q: a size is COLUMNSxROWS, for example 80x24", text)
	}
	s.Width, _ = strconv.Atoi(m[1])
	s.Height, _ = strconv.Atoi(m[2])
	if s.Width < minWidth || s.Width > maxWidth || s.Height < minHeight || s.Height > maxHeight {
		return s, fmt.Errorf("size %s: %dx%d to %dx%d", text, minWidth, minHeight, maxWidth, maxHeight)
	}
	return s, nil
}

func parseKeys(s Step, args []word) (Step, error) {
	if len(args) == 0 {
		return s, errors.New("key takes one or more key names, for example enter or ctrl+s")
	}
	for _, a := range args {
		k, ok := keyNamed(a.text)
		if ok {
			_, ok = encode(k)
		}
		if !ok {
			return s, fmt.Errorf("key %q: no key has that name; names are those of bubbletea, for example enter, shift+tab, ctrl+s, f1", a.text)
		}
		s.Keys = append(s.Keys, k)
	}
	return s, nil
}

// keyNames maps the names that bubbletea prints to key types. "space" stands for the blank, which a line cannot
// show.
var keyNames = func() map[string]tea.KeyType {
	m := map[string]tea.KeyType{"space": tea.KeySpace}
	for t := tea.KeyType(-200); t <= 127; t++ {
		if name := (tea.Key{Type: t}).String(); name != "" && t != tea.KeyRunes {
			if _, known := m[name]; !known {
				m[name] = t
			}
		}
	}
	return m
}()

func keyNamed(name string) (tea.KeyMsg, bool) {
	rest, alt := strings.CutPrefix(name, "alt+")
	if rest == "" {
		return tea.KeyMsg{}, false
	}
	if t, ok := keyNames[rest]; ok {
		k := tea.Key{Type: t, Alt: alt}
		if t == tea.KeySpace {
			k.Runes = []rune{' '}
		}
		return tea.KeyMsg(k), true
	}
	if r, size := utf8.DecodeRuneInString(rest); size == len(rest) && r != utf8.RuneError {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: alt}, true
	}
	return tea.KeyMsg{}, false
}
