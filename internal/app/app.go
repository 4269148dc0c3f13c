// Package app wires the commands: configuration, construction, shutdown order, exit codes.
package app

// Main runs the command line and returns the process's exit code.
func Main(args []string) int {
	return 0
}
