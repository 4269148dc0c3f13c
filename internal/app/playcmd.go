package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"askback/host"
	"askback/internal/play"
	"askback/mcpmgr/config"
	"askback/tui"
)

func newPlay(g *globals) *cobra.Command {
	var update bool
	var golden string
	cmd := &cobra.Command{
		Use:   "play SCRIPT",
		Short: "Run a script against the terminal UI and compare golden frames",
		Long: `play runs the real program on an emulated screen with a clock that stands still, types what the script says and
compares the screen with golden frames. See docs/scripting.md for the commands of a script.`,
		Example: "  askback play form.play\n  askback play form.play --update",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return runPlay(ctx, g, args[0], golden, update)
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write the golden frames instead of comparing them")
	cmd.Flags().StringVar(&golden, "golden", "", "`folder` of the golden frames (default: the script's name without its ending)")
	return cmd
}

func runPlay(ctx context.Context, g *globals, script, golden string, update bool) error {
	f, err := os.Open(script)
	if err != nil {
		return usagef(err)
	}
	steps, err := play.Parse(f)
	f.Close()
	if err != nil {
		return usagef(fmt.Errorf("%s: %w", script, err))
	}
	if golden == "" {
		golden = strings.TrimSuffix(script, filepath.Ext(script))
		if golden == script {
			golden += ".golden"
		}
	}
	base := filepath.Dir(script)
	time.Local = time.UTC // frames show times of day, and must not depend on where they are made
	err = play.Run(ctx, steps, play.Options{Golden: golden, Update: update,
		Start: func(ctx context.Context, args []string, o tui.Options, clock *play.Clock) int {
			return g.startScripted(ctx, base, args, o, clock)
		}})
	if err != nil {
		code := exitFailed
		if errors.Is(context.Cause(ctx), errSignal) {
			code = exitStopped
		}
		return &exitError{code: code, err: fmt.Errorf("%s: %w", script, err)}
	}
	return nil
}

// startScripted is the program that a script runs: the terminal UI with an embedded Host that keeps nothing. A
// configuration is named relative to the script. The screen does not go by the environment: frames are the same whatever
// language, colours or terminal the machine has.
func (g *globals) startScripted(ctx context.Context, base string, args []string, o tui.Options, clock *play.Clock) int {
	servers, err := g.scriptedServers(ctx, base, args)
	if err == nil {
		o.Getenv = func(string) string { return "" }
		inner := *g
		inner.host, inner.session, inner.permissionMode, inner.accessible = "", "", "", false
		err = runTerminal(ctx, &inner, terminal{servers: servers, temporary: true, options: o,
			host: embeddedOptions{clock: scriptedClock{clock}, newID: counterIDs()}, name: "play"})
	}
	if x, ok := errors.AsType[*exitError](err); err != nil && !(ok && x.silent) {
		fmt.Fprintf(g.env.stderr, "askback: %v\n", err)
	}
	return exitCode(err)
}

func (g *globals) scriptedServers(ctx context.Context, base string, args []string) ([]config.Server, error) {
	if len(args) == 1 { // demo
		s, err := demoServer()
		return []config.Server{s}, err
	}
	inner := *g
	if inner.config = args[1]; !filepath.IsAbs(inner.config) {
		inner.config = filepath.Join(base, inner.config)
	}
	f, err := inner.loadServers(ctx)
	if err != nil {
		return nil, err
	}
	return f.Servers, nil
}

// scriptedClock is a script's clock as the Host's.
type scriptedClock struct{ *play.Clock }

func (c scriptedClock) AfterFunc(d time.Duration, f func()) host.Timer {
	return c.Clock.AfterFunc(d, f)
}

// counterIDs mints ids that are the same in every run.
func counterIDs() func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("id-%d", n.Add(1)) }
}
