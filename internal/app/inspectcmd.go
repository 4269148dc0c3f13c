package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"askback/internal/inspect"
	"askback/mcpmgr/config"
)

// inspectFlags are those of `askback inspect`.
type inspectFlags struct {
	era     string
	roots   []string
	json    bool
	method  string
	name    string
	uri     string
	args    string
	params  string
	sample  []string
	export  string
	values  bool
	answers answerFlags

	command []string // after --
}

// inspectMethods are suggested by the shell; any other method is sent as it is.
var inspectMethods = []string{"tools/call", "tools/list", "prompts/get", "prompts/list", "resources/read", "resources/list",
	"resources/templates/list", "completion/complete", "logging/setLevel", "ping"}

func newInspect(g *globals) *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect [SERVER…] | inspect URL | inspect -- COMMAND [ARGS…]",
		Short: "Talk to MCP servers directly, as a protocol inspector",
		Long: `inspect connects to MCP servers without a Host and shows what passes: every message, the legs of each call with what
was asked and answered, and panels for all that a server may ask (forms, addresses to visit, sampling). It opens
the configured servers, or the named ones, or one that is not configured: an address, or a command after --.

With --method it makes one request and prints the result, for scripts; --json alone prints how the servers answered.`,
		Example: `  askback inspect
  askback inspect -- node server.mjs
  askback inspect http://127.0.0.1:3000/mcp --era legacy
  askback inspect demo --json --method tools/call --name deploy --args '{"artifact":"build-42"}' --set environment=staging --set confirm=true
  askback inspect demo --json --method resources/read --uri demo://note --answers answers.json --export messages.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				args, f.command = args[:n], args[n:]
				if len(f.command) == 0 || len(args) > 0 {
					return usagef(errors.New("what stands after -- is the command of the one server to inspect: askback inspect -- COMMAND [ARGS…]"))
				}
			}
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runInspect(ctx, g, f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.era, "era", "", "auto, modern or legacy: the protocol `era` to speak (default: as configured, else auto)")
	fl.StringArrayVar(&f.roots, "root", nil, "offer a `folder` to the server as a root (repeatable)")
	fl.BoolVar(&f.json, "json", false, "print one JSON value on stdout and nothing else; no screen")
	fl.StringVar(&f.method, "method", "", "make one request: tools/call, prompts/get, resources/read, a list, or any other `method`")
	fl.StringVar(&f.name, "name", "", "`name` of the tool or prompt")
	fl.StringVar(&f.uri, "uri", "", "`address` of the resource")
	fl.StringVar(&f.args, "args", "", "arguments of the tool or prompt: a `JSON` object, or @file")
	fl.StringVar(&f.params, "params", "", "params of any other method: a `JSON` object, or @file")
	fl.StringArrayVar(&f.sample, "sample", nil, "answer a sampling request: a `text`, a result as JSON, or @file (repeatable, in order)")
	fl.StringVar(&f.export, "export", "", "write the messages as JSON lines to `file` at the end")
	fl.BoolVar(&f.values, "include-values", false, "keep the answers in exported messages")
	f.answers.register(cmd)
	return cmd
}

func runInspect(ctx context.Context, g *globals, f *inspectFlags, args []string) error {
	servers, err := g.inspected(ctx, f, args)
	if err != nil {
		return err
	}
	log, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	opt := inspect.Options{Servers: servers, Name: "askback", Version: version, Logger: log}
	if dir, err := g.stateDir(); err == nil {
		opt.TokenFile = filepath.Join(dir, "oauth.json")
	}
	if f.method == "" && !f.json {
		return runInspectScreen(ctx, g, f, opt)
	}
	return runInspectOnce(ctx, g, f, opt)
}

// inspected are the servers that the command line means.
func (g *globals) inspected(ctx context.Context, f *inspectFlags, args []string) ([]config.Server, error) {
	era := config.Protocol(f.era)
	if era != "" && era != config.Auto && era != config.Modern && era != config.Legacy {
		return nil, usagef(fmt.Errorf("--era %q: the eras are auto, modern and legacy", f.era))
	}
	servers, err := g.inspectedServers(ctx, f, args)
	if err != nil {
		return nil, err
	}
	roots, err := readRoots(f.roots)
	if err != nil {
		return nil, usagef(err)
	}
	servers = slices.Clone(servers)
	for i := range servers {
		servers[i].Protocol = cmp.Or(era, servers[i].Protocol)
		servers[i].Roots = slices.Concat(servers[i].Roots, roots)
	}
	return servers, nil
}

func (g *globals) inspectedServers(ctx context.Context, f *inspectFlags, args []string) ([]config.Server, error) {
	if len(f.command) > 0 {
		name := serverName(filepath.Base(f.command[0]))
		return []config.Server{{Name: name, Transport: config.Stdio, Command: f.command[0], Args: f.command[1:], Protocol: config.Auto}}, nil
	}
	if len(args) == 1 && strings.Contains(args[0], "://") {
		s, err := addressServer(args[0])
		return []config.Server{s}, err
	}
	for _, name := range args {
		if !config.ValidName(name) {
			return nil, usagef(fmt.Errorf("%q names no server: an address begins with http:// or https://, a command stands after --", name))
		}
	}
	file, err := g.loadServers(ctx)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		if len(file.Servers) == 0 {
			return nil, usagef(fmt.Errorf("%s names no server", file.Path))
		}
		return file.Servers, nil
	}
	var servers []config.Server
	for _, name := range args {
		s, err := namedServer(file, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(servers, func(o config.Server) bool { return o.Name == name }) {
			servers = append(servers, s)
		}
	}
	return servers, nil
}

func addressServer(address string) (config.Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return config.Server{}, usagef(fmt.Errorf("%q is no http or https address", address))
	}
	if u.User != nil {
		return config.Server{}, usagef(errors.New("an address on the command line holds no user or password; configure the server's headers instead"))
	}
	return config.Server{Name: serverName(u.Hostname()), Transport: config.HTTP, URL: address, Protocol: config.Auto}, nil
}

// serverName makes a name that a configuration could hold.
func serverName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && config.ValidName(string(r)) {
			return r
		}
		return '-'
	}, s)
	return cmp.Or(strings.TrimLeft(s[:min(len(s), 64)], ".-"), "server")
}

func readRoots(dirs []string) ([]config.Root, error) {
	var out []config.Root
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, fmt.Errorf("--root: %w", err)
		}
		info, err := os.Stat(abs)
		if err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--root %s: not a folder", d)
		}
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}
		out = append(out, config.Root{URI: u.String(), Name: filepath.Base(abs)})
	}
	return out, nil
}
