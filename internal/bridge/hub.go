package bridge

import "sync"

// Hub tells several listeners that something changed. Signals coalesce. The zero value works.
type Hub struct {
	mu        sync.Mutex
	listeners []chan struct{}
}

// Listen returns a channel with room for one signal.
func (h *Hub) Listen() <-chan struct{} {
	ch := make(chan struct{}, 1)
	h.Add(ch)
	return ch
}

// Add tells a channel that has room for one signal; several hubs may share it.
func (h *Hub) Add(ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners = append(h.listeners, ch)
}

// Notify tells all listeners.
func (h *Hub) Notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
