// Package app wires the commands: configuration, construction, shutdown order, exit codes.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"askback/forms"
	"askback/protocol"
)

// env is the world as a command sees it, so that tests can give it another.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
}

// Main runs the command line and returns the process's exit code.
func Main(args []string) int {
	return run(context.Background(), args, &env{os.Stdin, os.Stdout, unbroken(os.Stderr), os.Getenv})
}

func run(ctx context.Context, args []string, e *env) int {
	out := &output{w: e.stdout}
	world := *e
	world.stdout = out
	root := newRoot(&world)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	for _, known := range []error{checkGroups(cmd), checkCommand(root, args)} {
		if err != nil && known != nil && known.Error() == err.Error() {
			err = usagef(fmt.Errorf("%s\nSee '%s --help'.", strings.TrimSpace(err.Error()), cmd.CommandPath()))
			break
		}
	}
	if err == nil {
		err = world.unwritten()
	}
	if err != nil {
		report(&world, cmd, wantsJSON(cmd, args, err), err)
	}
	return exitCode(err)
}

// checkGroups is what cobra says about flags that exclude each other. It knows no error type for that.
func checkGroups(cmd *cobra.Command) error {
	if cmd.DisableFlagParsing {
		return nil
	}
	return cmd.ValidateFlagGroups()
}

// checkCommand is what cobra says about a first word that is no command. It knows no error type for that either.
func checkCommand(root *cobra.Command, args []string) error {
	_, _, err := root.Find(args)
	return err
}

// wantsJSON says whether the command line asks for machine output. Where it could not be read to the end, the flag
// counts wherever it stands before "--".
func wantsJSON(cmd *cobra.Command, args []string, err error) bool {
	x, _ := errors.AsType[*exitError](err)
	if f := cmd.Flags().Lookup("json"); f != nil && (f.Changed || x == nil || !x.flags) {
		return f.Value.String() == "true"
	}
	for _, a := range args {
		if a == "--" {
			return false
		}
		value, given := strings.CutPrefix(a, "--json=")
		if on, err := strconv.ParseBool(value); a == "--json" || given && err == nil && on {
			return true
		}
	}
	return false
}

// report tells an error: to people on stderr, and under --json to the program on stdout, which gets a JSON value
// whatever went wrong.
func report(e *env, cmd *cobra.Command, asJSON bool, err error) {
	x, _ := errors.AsType[*exitError](err)
	if x == nil || !x.silent {
		fmt.Fprintf(e.stderr, "askback: %s\n", forms.Block(err.Error())) // it may repeat what came from elsewhere
	}
	if !asJSON || x != nil && x.silent {
		return
	}
	body := map[string]any{"code": genericCode(err), "message": err.Error()}
	if server, tool, ok := strings.Cut(cmd.Flags().Arg(0), "/"); ok && cmd.Name() == "call" { // wrong flags name them, too
		body["server"], body["tool"] = server, tool
	}
	var out any = map[string]any{"error": body}
	if x != nil && x.json != nil {
		out = x.json
	}
	printJSON(e.stdout, out)
}

// genericCode names a failure that is no call's: codes of calls are those of the tool call itself.
func genericCode(err error) string {
	if x, ok := errors.AsType[*exitError](err); ok && x.name != "" {
		return x.name
	}
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

// checkFlags refuses a flag whose value is empty, as an unset variable of a script leaves it: it would count as not
// given, and something else than what was meant would run.
func checkFlags(cmd *cobra.Command, g *globals) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(list.GetSlice(), "")
		}
		if empty && err == nil {
			err = usagef(fmt.Errorf("--%s: its value is empty", f.Name))
		}
	})
	if err == nil && g.permissionMode != "" && !protocol.PermissionMode(g.permissionMode).Known() {
		err = usagef(fmt.Errorf("--permission-mode %q: the modes are explore, ask and bypass", g.permissionMode))
	}
	return err
}

// usageArgs makes cobra's complaint about arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef(fmt.Errorf("%w\nUsage: %s\nSee '%s --help'.", err, cmd.UseLine(), cmd.CommandPath()))
		}
		return nil
	}
}
