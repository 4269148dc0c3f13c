package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxSize bounds a configuration file, in bytes.
const MaxSize = 1 << 20

// Load reads and parses the file at path with the process's environment. The error is about the
// file as a whole (not there, not readable); problems of entries are in the File.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, data, os.LookupEnv), nil
}

// Parse reads a configuration. path names the file in messages, and relative folders are taken
// from its folder. The result always exists; File.Errors says what could not be used.
func Parse(path string, data []byte, env Lookup) *File {
	p := &parser{f: &File{Path: path}, env: env}
	p.file(data)
	return p.f
}

type parser struct {
	f   *File
	env Lookup
}

func (p *parser) fail(server, key, format string, args ...any) {
	p.f.Errors = append(p.f.Errors, &Error{File: p.f.Path, Server: server, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) warn(server, key, format string, args ...any) {
	p.f.Warnings = append(p.f.Warnings, &Error{File: p.f.Path, Server: server, Key: key, Message: fmt.Sprintf(format, args...)})
}

func (p *parser) file(data []byte) {
	if len(data) > MaxSize {
		p.fail("", "", "the file is larger than %d bytes", MaxSize)
		return
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		p.fail("", "", "is not text in UTF-8")
		return
	}
	top, err := object(data)
	if err != nil {
		p.fail("", "", "%s", position(data, err))
		return
	}
	found := false
	for _, m := range top {
		if m.key != "mcpServers" {
			p.warn("", m.key, "unknown key%s", meantAtTop[m.key])
			continue
		}
		found = true
		entries, err := membersOf(m.val)
		if err != nil {
			p.fail("", "mcpServers", "must be an object of servers: %v", err)
			return
		}
		times := map[string]int{}
		for _, e := range entries {
			times[e.key]++
		}
		for _, e := range entries {
			switch n := times[e.key]; {
			case n == 1:
				p.entry(e.key, e.val)
			case n > 1: // which one is meant nobody knows
				p.fail(e.key, "", "is given twice")
				times[e.key] = -1
			}
		}
	}
	if !found {
		p.fail("", "mcpServers", "is missing")
	}
}

// entry reads one server. Every problem of it is reported, not only the first.
func (p *parser) entry(name string, raw json.RawMessage) {
	before := len(p.f.Errors)
	ms, err := object(raw)
	if !ValidName(name) && !isDisabled(ms) {
		p.fail(name, "", "a server's name is 1 to 64 of the characters A-Z a-z 0-9 _ . -")
		return
	}
	if err != nil {
		p.fail(name, "", "must be an object: %v", err)
		return
	}
	e := entry{p: p, Server: Server{Name: name, Protocol: Auto}}
	for _, m := range ms {
		e.key(m)
	}
	if e.disabled {
		p.f.Errors = p.f.Errors[:before] // what does not run need not be right
		p.f.Disabled = append(p.f.Disabled, name)
		return
	}
	e.finish()
	if len(p.f.Errors) == before {
		p.f.Servers = append(p.f.Servers, e.Server)
	}
}

// isDisabled reports whether an entry is switched off: what does not run need not be right, its name included.
func isDisabled(entry []member) bool {
	for _, m := range entry {
		if m.key == "disabled" {
			return string(m.val) == "true"
		}
	}
	return false
}

// What keys of other programs' files mean here, as the end of a warning.
var (
	meantAtTop = map[string]string{
		"servers": `; servers stand under "mcpServers"`, "mcp": `; servers stand under "mcpServers"`,
		"context_servers": `; servers stand under "mcpServers"`,
	}
	meantInEntry = map[string]string{
		"serverUrl": `; the address is "url"`, "httpUrl": `; the address is "url"`, "uri": `; the address is "url"`,
		"endpoint": `; the address is "url"`, "environment": `; variables stand under "env"`,
		"workingDirectory": `; the folder is "cwd"`, "enabled": `; "disabled": true switches a server off`,
	}
)

type entry struct {
	p *parser
	Server
	typ                 string
	hasCommand, hasURL  bool
	stdioKeys, httpKeys []string
	disabled            bool
}

func (e *entry) fail(key, format string, args ...any) { e.p.fail(e.Name, key, format, args...) }

func (e *entry) key(m member) {
	switch m.key {
	case "command":
		e.hasCommand = true
		e.Command = e.text(m)
		e.written.command = plain(m.val)
		if e.Command == "" && isString(m.val) {
			e.fail(m.key, "must not be empty")
		}
	case "args":
		e.stdioKeys = append(e.stdioKeys, m.key)
		e.Args = e.texts(m)
		if list, err := array(m.val); err == nil {
			for _, raw := range list {
				e.written.args = append(e.written.args, plain(raw))
			}
		}
	case "env":
		e.stdioKeys = append(e.stdioKeys, m.key)
		e.Env = e.pairs(m)
		for _, v := range e.Env {
			if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") {
				e.fail("env."+v.Name, "is no variable of an environment")
			}
		}
	case "cwd":
		e.stdioKeys = append(e.stdioKeys, m.key)
		e.Dir = e.text(m)
	case "url":
		e.hasURL = true
		e.URL = e.text(m)
		e.written.url = plain(m.val)
	case "headers":
		e.httpKeys = append(e.httpKeys, m.key)
		e.Headers = e.pairs(m)
	case "type", "transport":
		e.typ = e.text(m)
	case "protocol":
		e.Protocol = Protocol(e.text(m))
		switch e.Protocol {
		case Auto, Modern, Legacy:
		default:
			e.fail(m.key, `must be "auto", "modern" or "legacy"`)
		}
	case "timeout":
		e.timeout(m)
	case "disabled":
		switch string(m.val) {
		case "true":
			e.disabled = true
		case "false":
		default:
			e.fail(m.key, "must be true or false")
		}
	case "roots":
		e.roots(m)
	default:
		e.p.warn(e.Name, m.key, "unknown key%s", meantInEntry[m.key])
	}
}

// finish checks what depends on several keys.
func (e *entry) finish() {
	switch {
	case e.hasCommand && e.hasURL:
		e.fail("url", `an entry has either "command" or "url"`)
		return
	case !e.hasCommand && !e.hasURL:
		e.fail("command", `an entry needs "command" or "url"`)
		return
	case e.hasCommand:
		e.Transport = Stdio
		for _, k := range e.httpKeys {
			e.fail(k, `belongs to an entry with "url"`)
		}
		e.folder()
	default:
		e.Transport = HTTP
		for _, k := range e.stdioKeys {
			e.fail(k, `belongs to an entry with "command"`)
		}
		e.checkURL()
		e.checkHeaders()
	}
	switch e.typ {
	case "":
	case "sse":
		e.fail("type", `"sse" is the transport of 2024-11-05, which is not supported; use the server's streamable HTTP address`)
	case "stdio":
		if e.Transport != Stdio {
			e.fail("type", `"stdio" needs "command"`)
		}
	case "http", "streamable-http", "streamable_http", "streamableHttp":
		if e.Transport != HTTP {
			e.fail("type", "%q needs \"url\"", e.typ)
		}
	default:
		e.fail("type", `must be "stdio" or "http"`)
	}
}

func (e *entry) folder() {
	if e.Dir == "~" || strings.HasPrefix(e.Dir, "~/") {
		e.p.warn(e.Name, "cwd", "~ means nothing here, ${HOME} does")
	}
	if e.Dir != "" && !filepath.IsAbs(e.Dir) {
		dir, err := filepath.Abs(filepath.Join(filepath.Dir(e.p.f.Path), e.Dir)) // a command in it must not depend on where it is started
		if err != nil {
			e.fail("cwd", "has no absolute path: %v", err)
			return
		}
		e.Dir = dir
	}
	if e.Dir != "" && strings.ContainsRune(e.Command, filepath.Separator) && !filepath.IsAbs(e.Command) {
		e.Command = filepath.Join(e.Dir, e.Command)
	}
}

func (e *entry) checkURL() {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Host == "":
		e.fail("url", "is not an http or https address")
	case u.Scheme != "http" && u.Scheme != "https":
		e.fail("url", "must begin with http:// or https://")
	case u.User != nil:
		e.fail("url", "must not hold a user or password; use headers")
	case u.Fragment != "":
		e.fail("url", "must not have a fragment")
	}
}

// ownHeaders are set by the protocol; a configured value would contradict the body.
func ownHeader(name string) bool {
	n := strings.ToLower(name)
	switch n {
	case "content-type", "content-length", "accept", "host", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name",
		"connection", "transfer-encoding", "last-event-id", "idempotency-key", "x-idempotency-key":
		return true
	}
	return strings.HasPrefix(n, "mcp-param-")
}

func (e *entry) checkHeaders() {
	seen := map[string]bool{}
	for _, h := range e.Headers {
		key := "headers." + h.Name
		lower := strings.ToLower(h.Name)
		switch {
		case !token(h.Name):
			e.fail(key, "is not a header name")
		case ownHeader(h.Name):
			e.fail(key, "is set by the protocol")
		case seen[lower]:
			e.fail(key, "is given twice")
		case strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			e.fail(key, "has a control character in its value")
		}
		seen[lower] = true
	}
}

func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// timeout is a number of milliseconds, as other clients write it, or a duration such as "90s".
func (e *entry) timeout(m member) {
	const most = 24 * time.Hour
	var d time.Duration
	var ms float64
	switch {
	case isString(m.val):
		var err error
		if d, err = time.ParseDuration(e.text(m)); err != nil {
			e.fail(m.key, `must be milliseconds or a duration such as "90s"`)
			return
		}
	case json.Unmarshal(m.val, &ms) == nil && string(m.val) != "null":
		if ms > 0 && ms < 1000 {
			e.p.warn(e.Name, m.key, "%v is %v milliseconds; write \"%vs\" for seconds", ms, ms, ms)
		}
		d = time.Duration(min(ms, float64(2*most/time.Millisecond)) * float64(time.Millisecond))
	default:
		e.fail(m.key, `must be milliseconds or a duration such as "90s"`)
		return
	}
	if d <= 0 || d > most {
		e.fail(m.key, "must be above 0 and at most 24h")
		return
	}
	e.Timeout = d
}

func (e *entry) roots(m member) {
	list, err := array(m.val)
	if err != nil {
		e.fail(m.key, "must be a list of {\"uri\", \"name\"?}: %v", err)
		return
	}
	for i, raw := range list {
		key := fmt.Sprintf("roots[%d]", i)
		ms, err := object(raw)
		if err != nil {
			e.fail(key, "must be an object: %v", err)
			continue
		}
		var r Root
		for _, f := range ms {
			switch f.key {
			case "uri":
				r.URI = e.text(member{key: key + ".uri", val: f.val})
			case "name":
				r.Name = e.text(member{key: key + ".name", val: f.val})
			default:
				e.p.warn(e.Name, key+"."+f.key, "unknown key")
			}
		}
		if msg := checkRoot(r.URI); msg != "" {
			e.fail(key+".uri", "%s", msg)
			continue
		}
		e.Roots = append(e.Roots, r)
	}
}

// checkRoot says what is wrong with a root's address, or nothing.
func checkRoot(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return "must be an absolute file:// address"
	}
	info, err := os.Stat(filepath.FromSlash(u.Path))
	switch {
	case err == nil && info.IsDir():
		return ""
	case err == nil:
		return "is not a folder"
	case os.IsNotExist(err):
		return "the folder does not exist"
	}
	if pe, ok := err.(*fs.PathError); ok {
		err = pe.Err
	}
	return "cannot be read: " + err.Error()
}

// text decodes a string and expands the variables in it.
func (e *entry) text(m member) string {
	var s string
	if !isString(m.val) || json.Unmarshal(m.val, &s) != nil {
		e.fail(m.key, "must be a string")
		return ""
	}
	x, err := Expand(s, e.p.env)
	if err != nil {
		e.fail(m.key, "%v", err)
		return s
	}
	if strings.Contains(x, "\x00") {
		e.fail(m.key, "holds a NUL character")
	}
	return x
}

// plain is a string as the file has it, or nothing.
func plain(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func (e *entry) texts(m member) []string {
	list, err := array(m.val)
	if err != nil {
		e.fail(m.key, "must be a list of strings: %v", err)
		return nil
	}
	out := make([]string, 0, len(list))
	for i, raw := range list {
		out = append(out, e.text(member{key: fmt.Sprintf("%s[%d]", m.key, i), val: raw}))
	}
	return out
}

func (e *entry) pairs(m member) []Pair {
	ms, err := object(m.val)
	if err != nil {
		e.fail(m.key, "must be an object of strings: %v", err)
		return nil
	}
	out := make([]Pair, 0, len(ms))
	for _, v := range ms {
		out = append(out, Pair{Name: v.key, Value: e.text(member{key: m.key + "." + v.key, val: v.val})})
	}
	return out
}

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }
