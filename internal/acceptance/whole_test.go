package acceptance

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every command writes at once on a terminal that answers no query, and asks it nothing: bubbletea's own init would
// wait five seconds. It runs by itself, before the parallel tests, for the sake of its limit.
func TestFirstOutput(t *testing.T) {
	const nowhere = "ws://127.0.0.1:1"
	for name, args := range map[string][]string{
		"terminal":    {"--config", "demo.json"},
		"demo":        {"demo"},
		"attach":      {"attach", "--host", nowhere, "--token-file", "token"},
		"provide":     {"provide", "--config", "demo.json", "--host", nowhere, "--token-file", "token"},
		"host":        {"host", "--listen", "127.0.0.1:0"},
		"token":       {"host", "token", "add", "me"},
		"tools":       {"tools", "--config", "demo.json"},
		"call":        {"call", "demo/plain", "--config", "demo.json"},
		"call, asked": {"call", "demo/deploy", "--config", "demo.json", "--args", `{"artifact":"a"}`},
		"pending":     {"pending", "--host", nowhere, "--token-file", "token"},
		"answer":      {"answer", "a/b", "--host", nowhere, "--token-file", "token", "--decline"},
		"authorize":   {"authorize", "demo", "--config", "demo.json"},
		"inspect":     {"inspect", "demo", "--config", "demo.json"},
		"lint":        {"lint", "form.json"},
		"play":        {"play", "nothing.play"},
		"version":     {"version"},
		"completion":  {"completion", "bash"},
		"help":        {"--help"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(live{t})
			h.demoConfig()
			h.write("token", "askb_rh_"+strings.Repeat("A", 43)+"\n")
			h.write("form.json", `{"type":"object","properties":{"a":{"type":"string"}}}`)
			started := time.Now()
			p := h.person(args...)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := p.screen.Wait(ctx, "the first output", func(s string) bool { return strings.TrimSpace(s) != "" }); err != nil {
				t.Fatal(err)
			}
			// A second is what a person gets; how long a machine takes that tests other packages meanwhile says nothing.
			t.Logf("the first output took %v", time.Since(started))
			for _, query := range []string{"\x1b]10;?", "\x1b]11;?", "\x1b[6n", "\x1b[c", "\x1b[>c"} {
				if strings.Contains(p.all.String(), query) {
					t.Errorf("the terminal was asked %q", query)
				}
			}
		})
	}
}

// TestWholeProgram holds what the program as it is shipped costs, where the machine is quiet enough to say so:
// ASKBACK_COSTS=1. Of several runs the best counts. Memory is the largest resident set of any of its processes, what
// this one had when it started them included; an idle Host's is what it has.
func TestWholeProgram(t *testing.T) {
	if os.Getenv("ASKBACK_COSTS") == "" {
		t.Skip("ASKBACK_COSTS is not set")
	}
	h := newHome(live{t})
	h.program = h.path("askback")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", h.program, "askback").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.write("demo.json", jsonOf(h.t, map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"command": h.program, "args": []string{"demo-server"}}}}))
	toTheEnd := func(args ...string) func() (time.Duration, int64) {
		return func() (time.Duration, int64) {
			cmd := h.command(args...)
			started := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return time.Since(started), resident(cmd.ProcessState)
		}
	}
	for _, c := range []struct {
		name string
		time time.Duration // 0 is no bound
		mem  int64         // MiB
		run  func() (time.Duration, int64)
	}{
		{"version", 15 * time.Millisecond, 0, toTheEnd("version")},
		{"call", 60 * time.Millisecond, 40, toTheEnd("call", "demo/plain", "--config", "demo.json", "--json")},
		{"first frame", 60 * time.Millisecond, 0, func() (time.Duration, int64) {
			started := time.Now()
			p := h.person("--config", "demo.json")
			p.see("host embedded")
			took := time.Since(started)
			p.end(syscall.SIGTERM)
			return took, resident(p.cmd.ProcessState)
		}},
		{"idle host", 0, 30, func() (time.Duration, int64) {
			started := time.Now()
			d := h.daemon("host", "--listen", "127.0.0.1:0")
			d.line("the ready line", func(v map[string]any) bool { return v["ready"] == true })
			took := time.Since(started)
			time.Sleep(200 * time.Millisecond)
			out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(d.cmd.Process.Pid)).Output()
			if err != nil {
				t.Fatal(err)
			}
			kib, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			d.end(syscall.SIGTERM)
			return took, kib << 10
		}},
	} {
		best, least := time.Hour, int64(1)<<40
		for range 21 {
			took, mem := c.run()
			best, least = min(best, took), min(least, mem)
		}
		least >>= 20
		t.Logf("%s: %v, %d MiB", c.name, best, least)
		if c.time > 0 && best > c.time {
			t.Errorf("%s took %v, promised are %v", c.name, best, c.time)
		}
		if c.mem > 0 && least > c.mem {
			t.Errorf("%s took %d MiB, promised are %d", c.name, least, c.mem)
		}
	}
}

// resident is the largest resident set that a process had, in bytes.
func resident(s *os.ProcessState) int64 {
	n := int64(s.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "darwin" {
		return n
	}
	return n << 10
}
