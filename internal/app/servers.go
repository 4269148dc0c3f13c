package app

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"askback/mcpmgr/config"
)

// interactive says whether a person can be asked: stdin and stderr are terminals.
func (g *globals) interactive() bool {
	return isTerminal(g.env.stdin) && isTerminal(g.env.stderr)
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// errNoConfig says that no configuration was found anywhere.
var errNoConfig = errors.New("no MCP servers are configured: make ./.mcp.json, or name a file with --config, or try 'askback demo'")

// loadServers reads the configuration. Entries that are wrong are told on stderr and left out; the others count.
func (g *globals) loadServers() (*config.File, error) {
	path, project := g.configPath()
	if path == "" {
		return nil, usagef(errNoConfig)
	}
	data, err := readLimited(path, config.MaxSize)
	if err != nil {
		return nil, usagef(err)
	}
	f := config.Parse(path, data, os.LookupEnv)
	for _, e := range f.Errors {
		fmt.Fprintf(g.env.stderr, "askback: %v\n", e)
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(g.env.stderr, "askback: warning: %v\n", w)
	}
	if len(f.Servers) == 0 && len(f.Errors) > 0 {
		return nil, usagef(fmt.Errorf("no server in %s can be used", path))
	}
	if project {
		if err := g.approve(path, data, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func readLimited(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return os.ReadFile(path)
}
