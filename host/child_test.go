package host

// runAsChild lets the test binary stand in for a Host process of its own.
func runAsChild() bool { return false }
