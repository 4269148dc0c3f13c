package config

import (
	"fmt"
	"strings"
)

// Lookup finds a variable of the environment; os.LookupEnv is one.
type Lookup func(name string) (value string, ok bool)

// Expand replaces ${VAR} and ${VAR:-default} in s. A variable that is not set and has no default
// is an error that names it. As in a shell, the default of ${VAR:-default} also stands in for a
// variable that is set but empty. A dollar sign that opens no ${…} stays as it is.
func Expand(s string, env Lookup) (string, error) {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+2:]
		end := strings.IndexByte(s, '}')
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
		case hasDef:
			b.WriteString(def)
		default:
			return "", fmt.Errorf("the environment variable %s is not set (write ${%s:-value} for a default)", name, name)
		}
	}
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
