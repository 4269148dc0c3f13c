// Command askback is a terminal client for tools that need to ask a person something.
package main

import (
	"os"

	"askback/internal/app"
	_ "askback/internal/bginit" // before bubbletea's own init asks the terminal
)

func main() {
	os.Exit(app.Main(os.Args[1:]))
}
