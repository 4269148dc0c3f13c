// Package config reads the mcpServers configuration that MCP clients share, and decides, as a pure
// function of what is wanted and what runs, which servers to start, stop, replace or leave alone.
//
// Nothing here starts a process or opens a connection. The environment comes in as a function and
// the file as bytes, so that every rule can be tested as a table.
package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Transport is how a server is reached.
type Transport string

// The transports of an entry. HTTP means streamable HTTP; the older SSE transport is refused.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
)

// Protocol pins the protocol era of a server.
type Protocol string

// The values of "protocol". Auto probes and is the default.
const (
	Auto   Protocol = "auto"
	Modern Protocol = "modern"
	Legacy Protocol = "legacy"
)

// Pair is one name and value; lists of pairs keep the order of the file.
type Pair struct{ Name, Value string }

// Root is one folder offered to servers that ask for roots (inspect only). URI is an absolute
// file:// URI of a folder that existed when the configuration was read.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Server is one entry, expanded and checked. It is a plain value: two servers that are Equal run
// the same way.
type Server struct {
	Name      string
	Transport Transport

	Command string // stdio
	Args    []string
	Env     []Pair
	Dir     string

	URL     string // http
	Headers []Pair

	Protocol Protocol
	Timeout  time.Duration // of one leg; 0: the default
	Roots    []Root

	written written // as the file has it, for Describe
}

// written is what a file says before its variables are expanded. It makes no two servers differ.
type written struct {
	command string
	args    []string
	url     string
}

// Equal reports whether both entries describe the same server run in the same way.
func (s Server) Equal(o Server) bool {
	return s.Name == o.Name && s.Transport == o.Transport && s.Command == o.Command &&
		slices.Equal(s.Args, o.Args) && slices.Equal(s.Env, o.Env) && s.Dir == o.Dir &&
		s.URL == o.URL && slices.Equal(s.Headers, o.Headers) && s.Protocol == o.Protocol &&
		s.Timeout == o.Timeout && slices.Equal(s.Roots, o.Roots)
}

// Describe names what an entry runs or talks to, for the question whether to trust a project file.
// It shows what the file says, variables unexpanded, and the names of what it sets in the environment:
// values and headers are not in it.
func (s Server) Describe() string {
	w := s.written
	if w.command == "" && w.url == "" { // not from a file
		w = written{s.Command, s.Args, s.URL}
	}
	if s.Transport == HTTP {
		return s.Name + ": " + w.url
	}
	parts := append([]string{w.command}, w.args...)
	for i, p := range parts {
		if p == "" || strings.ContainsAny(p, " \t\n\"'\\$`;|&<>*?()") {
			parts[i] = fmt.Sprintf("%q", p)
		}
	}
	d := s.Name + ": " + strings.Join(parts, " ")
	if s.Dir != "" {
		d += " (in " + s.Dir + ")"
	}
	if len(s.Env) > 0 { // a PATH or a LD_PRELOAD decides what runs; the values may be secrets
		names := make([]string, len(s.Env))
		for i, v := range s.Env {
			names[i] = v.Name
		}
		d += " (sets " + strings.Join(names, ", ") + ")"
	}
	return d
}

// Error is one problem of one place in a file. Server and Key are empty where the file as a whole
// is meant.
type Error struct {
	File, Server, Key string
	Message           string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Server != "" {
		fmt.Fprintf(&b, ": server %q", e.Server)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	return b.String() + ": " + e.Message
}

// File is what a configuration says: the servers that are well formed, in the order of the file,
// and what is wrong with the rest. A malformed entry never stops the others.
type File struct {
	Path     string
	Servers  []Server
	Disabled []string // names of entries with "disabled": true
	Errors   []*Error
	Warnings []*Error // unknown keys and values that are probably meant otherwise
}

// Server returns the named entry.
func (f *File) Server(name string) (Server, bool) {
	i := slices.IndexFunc(f.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return Server{}, false
	}
	return f.Servers[i], true
}

// ValidName reports whether name may name a server: 1 to 64 of A-Z a-z 0-9 _ . -
func ValidName(name string) bool {
	if len(name) < 1 || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return true
}
