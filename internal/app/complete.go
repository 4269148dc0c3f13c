package app

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"askback/mcpmgr/config"
)

// flagValues are the flags that take one of a few words.
var flagValues = map[string][]string{
	"log-level":       {"debug", "info", "warn", "error"},
	"permission-mode": {"explore", "ask", "bypass"},
	"role":            {"client", "provider", "both"},
	"era":             {"auto", "modern", "legacy"},
	"method":          inspectMethods,
}

// fileArgs are the commands whose argument is a file, which the shell completes itself. So it does with the value of
// every flag that is neither in flagValues nor in freeFlags.
var fileArgs = []string{"play", "lint"}

// freeFlags are the flags whose value is no file and can be anything.
var freeFlags = []string{"set", "name", "uri", "scope", "session", "host", "render", "answer", "expires", "listen", "retain", "allow-origin"}

// addCompletion says for every command and flag what a shell may complete. Nothing is started for it: servers are
// named from the configuration, and their tools are not asked for.
func addCompletion(root *cobra.Command, g *globals) {
	everyCommand(root, func(cmd *cobra.Command) {
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			cmd.Example = "  askback completion " + cmd.Name() + " > askback." + cmd.Name()
		}
		if cmd.Name() == "completion" {
			cmd.Example = "  source <(askback completion bash)"
		}
		if cmd.ValidArgsFunction == nil && !slices.Contains(fileArgs, cmd.Name()) {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	})
	for name, suffix := range map[string]string{"call": "/", "tools": "", "inspect": "", "authorize": ""} {
		if cmd, _, err := root.Find([]string{name}); err == nil {
			cmd.ValidArgsFunction = serverNames(g, suffix, name != "inspect")
		}
	}
	everyCommand(root, func(cmd *cobra.Command) {
		for name, values := range flagValues {
			if cmd.LocalNonPersistentFlags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		for _, name := range freeFlags {
			if cmd.LocalNonPersistentFlags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
			}
		}
	})
}

func everyCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		everyCommand(c, f)
	}
}

func serverNames(g *globals, suffix string, one bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if suffix != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		path, _ := g.configPath()
		if one && len(args) > 0 || path == "" {
			return nil, directive
		}
		data, err := readLimited(path, config.MaxSize)
		if err != nil {
			return nil, directive
		}
		var names []cobra.Completion
		for _, s := range config.Parse(path, data, os.LookupEnv).Servers {
			if !slices.Contains(args, s.Name) {
				names = append(names, s.Name+suffix)
			}
		}
		return names, directive
	}
}
