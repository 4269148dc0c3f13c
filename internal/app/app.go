// Package app wires the commands: configuration, construction, shutdown order, exit codes.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

// errSignal is the cause of a context that a signal ended.
var errSignal = errors.New("stopped by a signal")

// env is the world as a command sees it, so that tests can give it another.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// Main runs the command line and returns the process's exit code.
func Main(args []string) int {
	return run(context.Background(), args, &env{os.Stdin, os.Stdout, os.Stderr, os.Getenv})
}

func run(ctx context.Context, args []string, e *env) int {
	root := newRoot(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		report(e, args, err)
	}
	return exitCode(err)
}

// report tells an error: to people on stderr, and under --json to the program on stdout, which gets a JSON value
// whatever went wrong.
func report(e *env, args []string, err error) {
	x, _ := errors.AsType[*exitError](err)
	if x == nil || !x.silent {
		fmt.Fprintf(e.stderr, "askback: %v\n", err)
	}
	if !slices.Contains(args, "--json") || x != nil && x.silent {
		return
	}
	var body any = map[string]any{"error": map[string]any{"code": genericCode(err), "message": err.Error()}}
	if x != nil && x.json != nil {
		body = x.json
	}
	printJSON(e.stdout, body)
}

// genericCode names a failure that is no call's: codes of calls are those of the tool call itself.
func genericCode(err error) string {
	switch exitCode(err) {
	case exitUsage:
		return "usage"
	case exitUnreachable:
		return "unreachable"
	case exitStopped:
		return "cancelled"
	}
	return "failed"
}

// withSignals ends the context at SIGINT, SIGTERM and SIGHUP, with errSignal as its cause.
func withSignals(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-ch:
			cancel(fmt.Errorf("%w: %v", errSignal, s))
		case <-ctx.Done():
		}
		signal.Stop(ch)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// usageArgs makes cobra's complaint about arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef(fmt.Errorf("%w\nSee '%s --help'.", err, cmd.CommandPath()))
		}
		return nil
	}
}
