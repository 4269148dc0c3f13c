package app

import "github.com/spf13/cobra"

func addCommands(root *cobra.Command, g *globals) {
	root.AddCommand(newDemo(g), newAttach(g), newTools(g), newAuthorize(g), newProvide(g), newCall(g), newInspect(g), newPending(g), newAnswer(g), newLint(g), newPlay(g), newHost(g), newDemoServer(g), newConformance(g), newVersion(g))
}
