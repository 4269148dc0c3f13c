package broker

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives the model enough steps to get deep by default; the flags still rule, and ASKBACK_MODEL_CHECKS is for
// longer runs.
func TestMain(m *testing.M) {
	checks := os.Getenv("ASKBACK_MODEL_CHECKS")
	if checks == "" {
		checks = "1000"
	}
	flag.Set("rapid.checks", checks)
	flag.Set("rapid.steps", "60")
	flag.Set("rapid.nofailfile", "true") // the seed that it prints is enough
	flag.Parse()
	os.Exit(m.Run())
}
