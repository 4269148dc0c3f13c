package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"askback/host/access"
)

// childEnv names the folder in which the test binary is to be a Host.
const childEnv = "ASKBACK_TEST_HOST_DIR"

// runAsChild lets the test binary stand in for a Host process of its own, to be killed.
func runAsChild() bool {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return false
	}
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tokens, err := access.Open(filepath.Join(dir, "tokens.json"))
	if err != nil {
		fail(err)
	}
	h, err := Open(Options{Dir: dir, Access: tokens})
	if err != nil {
		fail(err)
	}
	l, err := Listen(context.Background(), "127.0.0.1:0", nil, false)
	if err != nil {
		fail(err)
	}
	fmt.Println(l.Addr())
	if err := h.Serve(l); err != nil {
		fail(err)
	}
	return true
}
