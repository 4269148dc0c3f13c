package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"askback/forms"
	"askback/mcpmgr/config"
	"askback/tui/tty"
)

// interactive says whether a person can be asked: stdin and stderr are terminals.
func (g *globals) interactive() bool {
	return isTerminal(g.env.stdin) && isTerminal(g.env.stderr)
}

// columns is the width of the terminal that a form is asked on line by line.
func (g *globals) columns() int { return tty.Columns(fileOf(g.env.stderr)) }

func isTerminal(v any) bool {
	f := fileOf(v)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// errNoConfig says that no configuration was found anywhere.
var errNoConfig = errors.New("no MCP servers are configured: make ./.mcp.json, or name a file with --config, or try 'askback demo'")

// loadServers reads the configuration. Entries that are wrong are told on stderr and left out; the others count.
func (g *globals) loadServers(ctx context.Context) (*config.File, error) {
	path, project := g.configPath()
	if path == "" {
		return nil, usagef(errNoConfig)
	}
	data, err := readLimited(path, config.MaxSize)
	if err != nil {
		return nil, usagef(err)
	}
	f := config.Parse(path, data, os.LookupEnv)
	for _, w := range f.Warnings {
		fmt.Fprintf(g.env.stderr, "askback: warning: %s\n", forms.Line(w.Error()))
	}
	if len(f.Servers) == 0 && len(f.Errors) > 0 {
		return nil, usagef(fmt.Errorf("no server can be used\n  %s", problems(f.Errors, "\n  ")))
	}
	for _, e := range f.Errors {
		fmt.Fprintf(g.env.stderr, "askback: %s\n", forms.Line(e.Error()))
	}
	if project {
		if err := g.approve(ctx, path, data, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// problems tells errors of a configuration. Names and keys in it are not ours, so they are made safe to show.
func problems(list []*config.Error, between string) string {
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = forms.Line(e.Error())
	}
	return strings.Join(lines, between)
}

// namedServer is a server that the command line names, or why it cannot be used.
func namedServer(f *config.File, name string) (config.Server, error) {
	if s, ok := f.Server(name); ok {
		return s, nil
	}
	if slices.Contains(f.Disabled, name) {
		return config.Server{}, usagef(fmt.Errorf("%s: server %q: disabled: it is switched off", f.Path, name))
	}
	wrong := slices.DeleteFunc(slices.Clone(f.Errors), func(e *config.Error) bool { return e.Server != name })
	if len(wrong) > 0 {
		return config.Server{}, usagef(errors.New(problems(wrong, "\n")))
	}
	return config.Server{}, notFoundf("no server is named %q in %s", name, f.Path)
}

// readInput is readLimited, where "-" is the standard input.
func (g *globals) readInput(ctx context.Context, path string, limit int64) ([]byte, error) {
	if path != "-" {
		return readLimited(path, limit)
	}
	if g.inputRead {
		return nil, errors.New("the standard input was read by another flag already")
	}
	g.inputRead = true
	type content struct {
		data []byte
		err  error
	}
	got := make(chan content, 1)
	go func() { // a read that nothing comes of cannot be called off: it ends with the input, or with the program
		data, err := readAll(g.env.stdin, "the standard input", limit)
		got <- content{data, err}
	}()
	select {
	case c := <-got:
		return c.data, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readLimited reads a file, which may be a pipe or a device without a size.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// readAll reads to the end, and leaves out the byte order mark that some editors put in front of a text.
func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
