package hostview

import (
	"context"
	"slices"
	"strings"
	"time"
)

const (
	startWait = 65 * time.Second // a server that starts is ready or failed before
	offerWait = 5 * time.Second  // for the Host to take the tools of one that is ready
	awaitTick = 50 * time.Millisecond
)

// StartingFor names the servers of ours whose tools a text of /call lines wants and that are not ready yet.
func StartingFor(s Servers, text string) []string {
	if s == nil {
		return nil
	}
	var names []string
	list := s.Servers()
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/call ")
		name, _, slash := strings.Cut(strings.TrimSpace(rest), "/")
		if !ok || !slash || slices.Contains(names, name) {
			continue
		}
		if slices.ContainsFunc(list, func(v Server) bool { return v.Name == name && Starting(v) }) {
			names = append(names, name)
		}
	}
	return names
}

// Starting says whether a server is on its way to offering its tools.
func Starting(v Server) bool {
	return !v.Ready && v.State != "failed" && v.State != "ready" && v.State != "not offered"
}

// AwaitTools waits for the servers of StartingFor, so that a line that is sent while the program starts finds its
// tool. It returns when each is ready or failed, when that takes too long, or when ctx ends.
func AwaitTools(ctx context.Context, s Servers, text string) {
	if len(StartingFor(s, text)) == 0 {
		return
	}
	tick := time.NewTicker(awaitTick)
	defer tick.Stop()
	began := time.Now()
	offering := began // since when nothing but the offer is missing
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		names := StartingFor(s, text)
		if len(names) == 0 || time.Since(began) > startWait {
			return
		}
		if slices.ContainsFunc(s.Servers(), func(v Server) bool { return v.State == "connecting" && slices.Contains(names, v.Name) }) {
			offering = time.Now()
		} else if time.Since(offering) > offerWait {
			return
		}
	}
}
