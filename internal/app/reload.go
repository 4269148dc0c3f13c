package app

import (
	"bytes"
	"io"
	"strings"

	"askback/mcpmgr/config"
)

// reload reads the configuration again, for a program that has the terminal or has none: it asks nobody, and what would
// go to stderr comes back. A project file that has changed is not used before a new start has asked about it.
func (g *globals) reload() (servers []config.Server, told string, err error) {
	var errs bytes.Buffer
	quiet := *g
	quiet.env = &env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, getenv: g.env.getenv}
	f, err := quiet.loadServers()
	if err != nil {
		return nil, "", err
	}
	return f.Servers, strings.TrimSpace(strings.ReplaceAll(errs.String(), "askback: ", "")), nil
}
