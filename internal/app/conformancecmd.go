package app

import (
	"github.com/spf13/cobra"

	"askback/internal/conformance"
)

// newConformance is the client that the MCP conformance suite drives.
func newConformance(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "conformance URL",
		Short:   "Play the client of an MCP conformance scenario",
		Long:    `conformance plays the scenario that MCP_CONFORMANCE_SCENARIO names against the server at URL, as the conformance suite starts it.`,
		Hidden:  true,
		Example: "  conformance client --command 'askback conformance' --scenario tools_call",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return conformance.Run(ctx, conformance.Options{URL: args[0],
				Scenario: g.env.getenv("MCP_CONFORMANCE_SCENARIO"), Version: g.env.getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"),
				Context: g.env.getenv("MCP_CONFORMANCE_CONTEXT"), Client: version, Log: g.env.stderr})
		},
	}
}
