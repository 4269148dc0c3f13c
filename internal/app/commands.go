package app

import "github.com/spf13/cobra"

func addCommands(root *cobra.Command, g *globals) {
	root.AddCommand(newDemoServer(g), newVersion(g))
}
