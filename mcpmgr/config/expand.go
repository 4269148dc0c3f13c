package config

import (
	"fmt"
	"strings"
)

// Lookup finds a variable of the environment; os.LookupEnv is one.
type Lookup func(name string) (value string, ok bool)

// Expand replaces ${VAR} and ${VAR:-default} in s. A variable that is not set and has no default
// is an error that names it. As in a shell, the default of ${VAR:-default} also stands in for a
// variable that is set but empty, and may hold variables itself. A dollar sign that opens no ${…}
// stays as it is.
func Expand(s string, env Lookup) (string, error) { return expand(s, env, 0) }

const maxNested = 8 // variables in defaults in defaults

func expand(s string, env Lookup, nested int) (string, error) {
	if nested > maxNested {
		return "", fmt.Errorf("the defaults of variables are nested deeper than %d", maxNested)
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+2:]
		end := closing(s)
		if end < 0 {
			return "", fmt.Errorf("${%s has no closing brace", clip(s))
		}
		ref := s[:end]
		s = s[end+1:]
		name, def, hasDef := strings.Cut(ref, ":-")
		if !validVar(name) {
			return "", fmt.Errorf("${%s} does not name a variable", clip(ref))
		}
		v, ok := env(name)
		switch {
		case ok && (v != "" || !hasDef):
			b.WriteString(v)
		case hasDef && len(def) < 3: // too short for a variable
			b.WriteString(def)
		case hasDef:
			d, err := expand(def, env, nested+1)
			if err != nil {
				return "", err
			}
			b.WriteString(d)
		default:
			return "", fmt.Errorf("the environment variable %s is not set (write ${%s:-value} for a default)", name, name)
		}
	}
}

// closing finds the brace that closes a reference which s follows the opening of: its own where
// there are references within, else the first.
func closing(s string) int {
	open := 1
	for i := range len(s) {
		switch {
		case s[i] == '{' && i > 0 && s[i-1] == '$':
			open++
		case s[i] == '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return strings.IndexByte(s, '}')
}

func validVar(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
