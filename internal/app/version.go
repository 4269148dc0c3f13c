package app

import (
	"fmt"
	"runtime/debug"
	"strings"

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
			fmt.Fprint(g.env.stdout, versionText())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func versionText() string {
	s := "askback " + version
	if commit != "" {
		s += " (" + commit + ")"
	}
	return s + "\nRuntime Host protocol: epochs 81 (forms), 39\nMCP: " + strings.Join(mcpVersions, ", ") + "\n"
}
