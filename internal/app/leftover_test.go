package app

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"askback/host"
)

// The store of a Host that was killed holds what people answered. The next start removes it, and nothing else.
func TestLeftOverStores(t *testing.T) {
	w := newWorld(t)
	killed := w.command("--config", w.path("demo.json"), "call", "demo/slow", "--args", `{"steps":100,"every":200}`)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	w.awaitCalls(1)
	killed.Process.Signal(syscall.SIGKILL)
	killed.Wait()
	left, _ := filepath.Glob(w.path(temporaryPrefix + "*"))
	if len(left) != 1 {
		t.Fatalf("a killed Host leaves one folder: %q", left)
	}
	if _, err := os.Stat(filepath.Join(left[0], host.StoreFile)); err != nil {
		t.Fatal(err)
	}

	running := w.command("--config", w.path("demo.json"), "call", "demo/slow", "--args", `{"steps":100,"every":200}`)
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	w.awaitCalls(2)
	both, _ := filepath.Glob(w.path(temporaryPrefix + "*"))
	if len(both) != 2 {
		t.Fatalf("a store that was written a moment ago counts as left: %q", both)
	}
	other := w.path(temporaryPrefix + "without")
	link := w.path(temporaryPrefix + "link")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path("elsewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("elsewhere/"+host.StoreFile, "")
	if err := os.Symlink(w.path("elsewhere"), link); err != nil {
		t.Fatal(err)
	}

	removeLeftOver(w.dir, time.Now().Add(time.Hour))
	for _, dir := range append(both, other, link, w.path("elsewhere/"+host.StoreFile)) {
		if _, err := os.Lstat(dir); (err != nil) != (dir == left[0]) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	running.Process.Signal(os.Interrupt)
	running.Wait()
}
