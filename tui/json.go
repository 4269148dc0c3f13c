package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// indentJSON writes JSON with two blanks a level, keys in their order and numbers as they are written.
func indentJSON(b *strings.Builder, s string) error {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(s), "", "  "); err != nil {
		return err
	}
	b.Write(out.Bytes())
	return nil
}

// compactObject checks that s is one JSON object and sets it on one line. The error says where it is wrong.
func compactObject(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "{}", nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(s), &whole); err != nil {
		at := ""
		if e, ok := err.(*json.SyntaxError); ok {
			line, column := lineOf(s, int(e.Offset))
			at = fmt.Sprintf("line %d, column %d: ", line, column)
		}
		return "", fmt.Errorf("%s%s", at, strings.TrimPrefix(err.Error(), "json: "))
	}
	if whole[0] != '{' {
		return "", fmt.Errorf("arguments are one object: {...}")
	}
	var out bytes.Buffer
	if err := json.Compact(&out, whole); err != nil {
		return "", err
	}
	return out.String(), nil
}

func lineOf(s string, offset int) (line, column int) {
	before := s[:min(len(s), max(0, offset-1))]
	line = 1 + strings.Count(before, "\n")
	column = 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	return line, column
}
