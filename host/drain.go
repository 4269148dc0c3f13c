package host

import (
	"context"
	"time"

	"askback/host/broker"
	"askback/protocol"
)

// Shutdown drains the Host: it accepts nothing new, answers requests with host_draining,
// closes every pending form as host_restarted, cancels the running Turns after the
// grace, and ends all connections once the Turns are over or ctx is. The store is
// closed. It is safe to call more than once; Close may cut it short.
func (h *Host) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.state != stateServing {
		h.mu.Unlock()
		return h.Close()
	}
	h.state = stateDraining
	drained := make(chan struct{})
	if h.turns == 0 {
		close(drained)
	} else {
		h.drained = drained
	}
	h.mu.Unlock()
	h.log.Info("Host draining")
	h.server.Close() // listeners close at once; upgraded connections are ours
	for _, s := range h.catalog.all() {
		s.drainForms()
	}
	grace := time.NewTimer(h.opt.DrainGrace)
	defer grace.Stop()
	select {
	case <-drained:
	case <-grace.C:
		for _, s := range h.catalog.all() {
			s.drainTurn()
		}
		select {
		case <-drained:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		h.flush(ctx)
	}
	return h.Close()
}

// drainForms closes what waits for a person and fails the calls that asked; Turns go on with their other calls.
func (s *session) drainForms() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.pending
	if s.turn != nil && len(asked) > 0 {
		s.turn.drained = true
	}
	s.closePending(protocol.ClosedHostRestarted)
	for _, in := range asked {
		s.host.gate.do(s.host, func(b *broker.Broker) []broker.Effect { return b.HostClosing(in.ask) })
	}
}

func (s *session) drainTurn() {
	s.mu.Lock() // also waits for a Turn that is just being admitted
	defer s.mu.Unlock()
	s.stopTurn(protocol.AbortUserStop, protocol.ClosedHostRestarted, (*broker.Broker).DrainTurn)
}

// flushTime is how long the last frames of a drain may take to leave.
const flushTime = 500 * time.Millisecond

// flush lets every connection write what waits for it.
func (h *Host) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	for _, c := range h.connections() {
		c.finish()
	}
	for _, c := range h.connections() {
		select {
		case <-c.writer:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the Host at once: connections are cut, Turns are cancelled and stored as
// such, the store is closed. It waits for everything that it ends.
func (h *Host) Close() error {
	h.mu.Lock()
	first := h.state != stateClosed
	h.state = stateClosed
	idle := make(chan struct{})
	if len(h.conns) == 0 {
		close(idle)
	} else if h.idle == nil {
		h.idle = idle
	} else {
		idle = h.idle
	}
	h.mu.Unlock()
	if first {
		h.server.Close()
		h.stopAll()
	}
	for _, s := range h.catalog.all() {
		s.drainTurn()
	}
	for _, c := range h.connections() {
		c.abort(errDrained)
	}
	<-idle
	h.wg.Wait()
	err := h.store.close()
	if first {
		h.log.Info("Host closed")
	}
	return err
}
