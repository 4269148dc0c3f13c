package forms

import (
	"flag"
	"os"
	"testing"
)

// TestMain sets how many draws each property gets: 1,000, or as many as
// ASKBACK_MODEL_CHECKS says. A failing draw is printed with its seed and
// written nowhere.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := os.Getenv("ASKBACK_MODEL_CHECKS")
	if checks == "" {
		checks = "1000"
	}
	set := map[string]string{"rapid.checks": checks, "rapid.nofailfile": "true"}
	flag.Visit(func(f *flag.Flag) { delete(set, f.Name) })
	for name, value := range set {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
