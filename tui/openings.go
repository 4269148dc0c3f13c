package tui

import (
	"slices"
	"sync"
)

// openings remembers which session is open, which were, and what each had pending when it was last seen: a view of
// a Host forgets sessions that are not shown. All methods may be called from any goroutine.
type openings struct {
	mu      sync.Mutex
	open    string
	left    map[string]bool
	pending map[string]map[string]bool // by session: ids of Interactions
}

func newOpenings() *openings {
	return &openings{left: map[string]bool{}, pending: map[string]map[string]bool{}}
}

// enter makes a session the open one and returns the one that is left for it, or "".
func (o *openings) enter(session string) (before string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before = o.open; before == session {
		return ""
	}
	o.open = session
	if before != "" {
		o.left[before] = true
	}
	return before
}

// saw remembers what a session has pending now. gone is what it had when it was left and has not any more: nobody
// has told how that ended.
func (o *openings) saw(session string, pending []string, opened bool) (gone []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.pending[session]
	if known == nil {
		known = map[string]bool{}
		o.pending[session] = known
	}
	if opened && o.left[session] {
		delete(o.left, session)
		for id := range known {
			if !slices.Contains(pending, id) {
				gone = append(gone, id)
			}
		}
	}
	for _, id := range pending {
		known[id] = true
	}
	return gone
}

// settled says whether an end is news.
func (o *openings) settled(session, id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	news := o.pending[session][id]
	delete(o.pending[session], id)
	return news
}

// forget drops a session that does not exist any more.
func (o *openings) forget(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pending, session)
	delete(o.left, session)
	if o.open == session {
		o.open = ""
	}
}
