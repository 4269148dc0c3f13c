package app

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Set by the release build; a plain build reads what the toolchain recorded.
var (
	version = ""
	commit  = ""
)

func init() {
	info, ok := debug.ReadBuildInfo()
	if version == "" {
		version = "devel"
		if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
	}
	if commit != "" || !ok {
		return
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			commit = s.Value[:min(len(s.Value), 12)]
		}
	}
}

var mcpVersions = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

func newVersion(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print version, commit, protocol epochs and MCP versions",
		Example: "  askback version --json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(g.env.stdout, map[string]any{
					"version": version, "commit": commit, "epochs": []int{81, 39}, "mcp": mcpVersions})
			}
			fmt.Fprintf(g.env.stdout, "askback %s", version)
			if commit != "" {
				fmt.Fprintf(g.env.stdout, " (%s)", commit)
			}
			fmt.Fprintf(g.env.stdout, "\nRuntime Host protocol: epochs 81 (forms), 39\nMCP: ")
			for i, v := range mcpVersions {
				if i > 0 {
					fmt.Fprint(g.env.stdout, ", ")
				}
				fmt.Fprint(g.env.stdout, v)
			}
			fmt.Fprintln(g.env.stdout)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
