package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"askback/forms"
	"askback/host"
	"askback/hostclient"
	"askback/internal/bridge"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
	"askback/provider"
)

// offerTime bounds the wait for a Host that was there to take the tools.
const offerTime = time.Minute

// leaveTime bounds taking the offers back when the program leaves.
const leaveTime = 2 * time.Second

// toolSide is the half of the program that has tools: MCP servers, and the provider connection that offers them.
type toolSide struct {
	mgr     *mcpmgr.Manager
	prov    *provider.Provider   // after offer
	conn    *hostclient.Provider // after offer
	changes *bridge.Hub          // of servers and tools
	note    *bridge.Hub          // of publications
	log     *slog.Logger
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu   sync.Mutex
	last *provider.Publication
}

func managerOptions(g *globals, log *slog.Logger, note *bridge.Hub) mcpmgr.Options {
	o := mcpmgr.Options{Logger: log, Name: "askback", Version: version, OnChange: note.Notify}
	if dir, err := g.stateDir(); err == nil {
		o.TokenFile = filepath.Join(dir, "oauth.json")
	}
	return o
}

// startTools starts the servers. It returns at once; offer shows their tools to a Host.
func (g *globals) startTools(servers []config.Server, log *slog.Logger) *toolSide {
	s := &toolSide{log: log, note: &bridge.Hub{}, changes: &bridge.Hub{}}
	s.mgr = mcpmgr.New(managerOptions(g, log, s.changes))
	s.mgr.Apply(servers)
	return s
}

// offer connects to the Host and offers the tools there are, now and after each change.
func (s *toolSide) offer(t *target) {
	s.prov = provider.New(provider.Options{
		Tools: bridge.NewTools(s.mgr, s.changes.Listen(), s.limits), Label: providerLabel(t), Published: s.publication, Logger: s.log})
	s.conn = hostclient.NewProvider(t.provider, s.prov)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.wg.Go(func() { s.prov.Run(ctx, s.conn) })
}

// limits are those of the Host at the other end: one that is not ours may hold less.
func (s *toolSide) limits() forms.Limits {
	if s.conn.Connection().Host.CompositionRevision == host.CompositionRevision {
		return forms.OurLimits()
	}
	return forms.ForeignLimits()
}

// providerLabel names this provider to people. A Host of this very process needs no machine's name.
func providerLabel(t *target) string {
	name, err := os.Hostname()
	if err != nil || t.embedded != nil {
		return provider.DefaultLabel
	}
	return provider.DefaultLabel + " on " + name
}

func (s *toolSide) publication(p provider.Publication) {
	s.mu.Lock()
	s.last = &p
	s.mu.Unlock()
	s.note.Notify()
}

func (s *toolSide) connection() *hostclient.Provider { return s.conn }

// close takes the offers back, which ends no answer, then ends the connection, its calls and the servers.
func (s *toolSide) close() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if s.conn != nil {
		s.cancel()
		s.conn.Close(ctx)
	}
	s.mgr.Close()
	s.wg.Wait()
}

// ready waits until a server is ready, or says why it is not.
func (s *toolSide) ready(ctx context.Context, server string) error {
	err := s.mgr.Wait(ctx, server)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reason := err.Error()
	if e, ok := errors.AsType[*mcpmgr.ToolCallError](err); ok {
		reason = e.Message
	}
	lines := []string{fmt.Sprintf("the server %s is not ready: %s", server, forms.Block(reason))}
	if st, ok := s.mgr.Server(server); ok {
		for _, l := range st.Stderr {
			if l = forms.Line(l); !strings.Contains(lines[0], l) { // the reason of one that ended holds its last words
				lines = append(lines, "  "+l)
			}
		}
	}
	return &exitError{code: exitUnreachable, err: errors.New(strings.Join(lines, "\n"))}
}

func (s *toolSide) has(server, tool string) bool {
	_, err := s.mgr.Tool(server, tool)
	return err == nil
}

// published waits until the Host holds the offer of a tool, or says why it never will.
func (s *toolSide) published(ctx context.Context, server, tool string) error {
	changed := s.note.Listen()
	late := time.After(offerTime)
	for {
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if done, err := offered(last, server, tool); done || err != nil {
			return err
		}
		if c := s.conn.Connection(); c.State == hostclient.StateRefused {
			return connectError(c.Cause)
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // a refused connection changes nothing that is listened to
		case <-late:
			return &exitError{code: exitUnreachable, err: fmt.Errorf("the Host did not take the tools within %v", offerTime)}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func offered(p *provider.Publication, server, tool string) (bool, error) {
	if p == nil {
		return false, nil
	}
	for _, l := range p.Plan.LeftOut {
		if l.Server == server && l.Tool == tool {
			return false, &exitError{code: exitUnreachable, err: errors.New(forms.Line(l.String()))}
		}
	}
	for _, t := range p.Plan.Tools {
		if t.Server == server && t.Name == tool {
			if p.Err != nil {
				return false, &exitError{code: exitUnreachable, err: fmt.Errorf("the Host refuses the tools: %s", forms.Line(p.Err.Error()))}
			}
			return true, nil
		}
	}
	return false, nil
}

// held counts, for each server, the tools that the Host holds or that cannot be offered.
func (s *toolSide) held() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	if s.last == nil || s.last.Err != nil {
		return n
	}
	for _, t := range s.last.Plan.Tools {
		n[t.Server]++
	}
	for _, l := range s.last.Plan.LeftOut {
		n[l.Server]++
	}
	return n
}
