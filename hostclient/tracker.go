package hostclient

import (
	"slices"

	"askback/protocol"
)

// maxSettled is how many settled Interactions are remembered, so that a projection that was written before an answer
// and read after it does not show its form again.
const maxSettled = 512

// tracked is an Interaction that was told as pending and not yet as settled.
type tracked struct {
	session   string
	answering int  // answers of ours under way: they find out how it ended
	gone      bool // the newest snapshot of its session does not hold it any more
	querying  bool // interaction.query is under way
}

// tracker knows which Interactions have been told. It decides, and acts on nothing; the View's lock guards it.
type tracker struct {
	known   map[string]*tracked
	settled []string // a ring of ids
}

func newTracker() *tracker { return &tracker{known: make(map[string]*tracked)} }

// snapshot takes in what a session's newest snapshot holds. It returns what is to be told as pending, and the ids to
// ask the Host about, each marked as being asked. Interactions that have settled are taken out of pending.
func (t *tracker) snapshot(session string, pending *[]protocol.Interaction, opened bool) (tell []InteractionPending, ask []string) {
	*pending = slices.DeleteFunc(slices.Clone(*pending), func(in protocol.Interaction) bool {
		return slices.Contains(t.settled, in.InteractionID)
	})
	here := make(map[string]bool, len(*pending))
	for _, in := range *pending {
		here[in.InteractionID] = true
		k := t.known[in.InteractionID]
		if k == nil {
			t.known[in.InteractionID] = &tracked{session: session}
			tell = append(tell, InteractionPending{SessionID: session, Interaction: in})
			continue
		}
		k.gone = false
		if opened {
			tell = append(tell, InteractionPending{SessionID: session, Interaction: in, Again: true})
		}
	}
	return tell, t.missing(session, here)
}

// missing marks what was told of a session and is not among here as gone, and returns what is to be asked about.
func (t *tracker) missing(session string, here map[string]bool) (ask []string) {
	for id, k := range t.known {
		if k.session != session || here[id] {
			continue
		}
		k.gone = true
		if t.shouldAsk(k) {
			ask = append(ask, id)
		}
	}
	slices.Sort(ask)
	return ask
}

func (t *tracker) shouldAsk(k *tracked) bool {
	if !k.gone || k.querying || k.answering > 0 {
		return false
	}
	k.querying = true
	return true
}

// asked ends a query that brought nothing. It reports whether the question stands.
func (t *tracker) asked(id string) bool {
	k := t.known[id]
	if k == nil {
		return false
	}
	k.querying = false
	return k.gone && k.answering == 0
}

// unshown returns what is to be asked about of sessions that are shown no more, which no open will bring up again.
func (t *tracker) unshown(shown map[string]*subscription) (ask []string) {
	for id, k := range t.known {
		if shown[k.session] == nil && t.shouldAsk(k) {
			ask = append(ask, id)
		}
	}
	slices.Sort(ask)
	return ask
}

func (t *tracker) beginAnswer(id string) {
	if k := t.known[id]; k != nil {
		k.answering++
	}
}

// endAnswer reports whether the Host is to be asked how the Interaction ended, since our answer did not tell.
func (t *tracker) endAnswer(id string) (ask bool) {
	k := t.known[id]
	if k == nil {
		return false
	}
	k.answering = max(0, k.answering-1)
	return t.shouldAsk(k)
}

// settle reports whether the Interaction was told as pending and has not been told as settled: whoever gets true tells.
func (t *tracker) settle(id string) (tell bool) {
	if t.known[id] == nil {
		return false
	}
	delete(t.known, id)
	if t.settled = append(t.settled, id); len(t.settled) > maxSettled {
		t.settled = slices.Delete(t.settled, 0, 1)
	}
	return true
}

// forget drops what was told of a session that is not shown any more by our own wish.
func (t *tracker) forget(session string) {
	for id, k := range t.known {
		if k.session == session {
			delete(t.known, id)
		}
	}
}
