package screen

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"

	"askback/tui/kit"
)

// watch tells the program of sizes, signals and the end of the input until run ends.
func watch(t *kit.Terminal, run context.Context, p *tea.Program, end context.CancelCauseFunc, spawn func(func())) {
	if !t.Real() {
		spawn(func() { t.WatchSize(run, p) })
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	spawn(func() {
		defer signal.Stop(c)
		select {
		case s := <-c:
			end(&Ended{Signal: s})
		case <-t.Ended():
			end(&Ended{})
		case <-run.Done():
		}
	})
}
