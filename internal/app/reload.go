package app

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"askback/mcpmgr/config"
)

// reloader reads the configuration again. running are the entries of the servers that run.
type reloader func(running []config.Server) (servers []config.Server, told string, err error)

// reload reads the configuration again, for a program that has the terminal or has none: it asks nobody, and what would
// go to stderr comes back. A project file that has changed is not used before a new start has asked about it. A server
// that runs and whose entry cannot be read any more goes on as it was: a slip of the pen ends no call.
func (g *globals) reload(running []config.Server) (servers []config.Server, told string, err error) {
	var errs bytes.Buffer
	quiet := *g
	quiet.env = &env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: g.env.getenv}
	f, err := quiet.loadServers(context.Background()) // nobody is asked
	if err != nil {
		return nil, "", err
	}
	servers = f.Servers
	for _, s := range running {
		if _, entry := f.Server(s.Name); !entry && slices.ContainsFunc(f.Errors, func(e *config.Error) bool { return e.Server == s.Name }) {
			servers = append(servers, s)
		}
	}
	return servers, strings.TrimSpace(strings.ReplaceAll(errs.String(), "askback: ", "")), nil
}
