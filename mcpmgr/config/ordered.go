package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// member is one key of a JSON object; lists of members keep the order of the file.
type member struct {
	key string
	val json.RawMessage
}

// object splits a JSON object, refusing duplicate keys and trailing data.
func object(raw []byte) ([]member, error) {
	out, err := membersOf(raw)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, m := range out {
		if seen[m.key] {
			return nil, fmt.Errorf("the key %q is given twice", m.key)
		}
		seen[m.key] = true
	}
	return out, nil
}

// membersOf splits a JSON object, duplicates and all.
func membersOf(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	var out []member
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: k.(string)}
		if err := dec.Decode(&m.val); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the closing brace")
	}
	return out, nil
}

func array(raw []byte) ([]json.RawMessage, error) {
	var out []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("it is not a list")
	}
	err := json.Unmarshal(raw, &out)
	return out, err
}

// position adds the line of a syntax error, which is what a person looks for.
func position(data []byte, err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "is not JSON: it ends too early"
	}
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := min(max(int(se.Offset)-1, 0), len(data))
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return fmt.Sprintf("is not JSON: line %d: %v", line, err)
	}
	return "is not a configuration: " + err.Error()
}
