package host

import (
	"time"

	"askback/protocol"
)

// A Clock tells the Host the time and runs its timers: execution deadlines, the time that
// a form may wait, retention. The network's own limits use the real one.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is a call that is due.
type Timer interface {
	// Stop prevents the call; it reports false when that was too late.
	Stop() bool
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// now is the time in Unix milliseconds, as records and frames bear it.
func (h *Host) now() int64 { return h.opt.Clock.Now().UnixMilli() }

// id mints an entity id.
func (h *Host) id() string { return h.opt.NewID() }

func (h *Host) head(kind, turnID string) rowHead {
	return rowHead{Type: kind, ID: h.id(), TurnID: turnID, TS: h.now()}
}

// closed ends an Interaction without an answer.
func (h *Host) closed(in protocol.Interaction, reason protocol.ClosureReason) protocol.Interaction {
	return settled(in, protocol.InteractionClosed, &protocol.Closure{Reason: reason, CommittedAt: h.now()})
}
