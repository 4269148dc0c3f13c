package app

import "sync"

// hub tells several listeners that something changed. Signals coalesce.
type hub struct {
	mu        sync.Mutex
	listeners []chan struct{}
}

// listen returns a channel with room for one signal.
func (h *hub) listen() <-chan struct{} {
	ch := make(chan struct{}, 1)
	h.add(ch)
	return ch
}

// add tells a channel that has room for one signal; several hubs may share it.
func (h *hub) add(ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, ch)
}

func (h *hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
