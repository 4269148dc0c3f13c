package hostclient

import (
	"context"
	"sync"

	"askback/protocol"
)

// View is a connection that watches and steers. It makes itself again until Close, and then opens its sessions again.
//
// All methods may be called concurrently, but Next from one goroutine at a time. Operations need a ready connection and
// fail with CodeNotConnected where there is none; they return a *RequestError when the Host refuses, and
// CodeRequestLost when the connection ended before the answer.
type View struct {
	keeper *keeper
	events *queue

	ctx    context.Context // until Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // of the goroutines that ask the Host something on the View's own account

	mu       sync.Mutex
	link     *link           // while ready
	linkCtx  context.Context // ends with link
	sessions map[string]*subscription
	byID     map[string]*subscription // by the subscriptionId of the present link
	tracker  *tracker
	closed   bool
}

// NewView starts connecting and returns at once. What happens is told by Next; an address, token or file that cannot be
// used is told as StateRefused.
func NewView(opts Options) *View {
	v := &View{
		events:   newQueue(),
		sessions: make(map[string]*subscription),
		byID:     make(map[string]*subscription),
		tracker:  newTracker(),
	}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	v.keeper = newKeeper(opts, (*viewHooks)(v))
	return v
}

// Next waits for the next event. When nobody takes events, what only shows coalesces and is bounded, and nothing about
// Interactions is lost; see SessionOpened. After Close it gives what is left and then CodeClosed.
func (v *View) Next(ctx context.Context) (Event, error) {
	return v.events.next(ctx, v.reopenAll)
}

// Ready waits while the present attempt to connect runs: nil when the connection is ready, else why the attempt failed.
func (v *View) Ready(ctx context.Context) error {
	_, err := v.keeper.ready(ctx, false)
	return err
}

// Connection is the present state.
func (v *View) Connection() Connection { return v.keeper.connection() }

// Retry makes the next attempt to connect at once, also after a refusal.
func (v *View) Retry() { v.keeper.tryNow() }

// Close ends the connection and waits for everything that belongs to it. Interactions stay as they are.
func (v *View) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.keeper.close()
	v.wg.Wait()
	v.events.close()
	return nil
}

// spawn runs f on a goroutine that Close waits for. v.mu is held.
func (v *View) spawn(f func()) {
	if !v.closed {
		v.wg.Go(f)
	}
}

// viewHooks keeps the keeper's hooks out of the View's exported methods.
type viewHooks View

func (h *viewHooks) changed(c Connection) { h.events.push(c) }

func (h *viewHooks) up(ctx context.Context, l *link) {
	v := (*View)(h)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.link, v.linkCtx = l, ctx
	for _, s := range v.sessions {
		v.open(s, 0)
	}
	v.tell(nil, v.tracker.unshown(v.sessions))
}

func (h *viewHooks) down(*link, *Error) {
	v := (*View)(h)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.link, v.linkCtx = nil, nil
	clear(v.byID)
	for _, s := range v.sessions {
		s.lost()
	}
}

func (h *viewHooks) receive(f protocol.HostFrame) *Error {
	v := (*View)(h)
	switch f := f.(type) {
	case protocol.SubscriptionFrame:
		return v.receiveSubscription(f)
	case *protocol.SessionCatalogChanged:
		v.events.push(CatalogChanged{CatalogSessions, f.SessionID})
	case *protocol.ProjectCatalogChanged:
		v.events.push(CatalogChanged{CatalogProjects, ""})
	case *protocol.ConfigurationChanged:
		v.events.push(CatalogChanged{CatalogConfiguration, ""})
	case *protocol.ScheduledTaskChanged, *protocol.RegistrationRelease:
	case *protocol.UnknownFrame:
	default:
		return violation("the Host sent a capability frame to a connection that offers none")
	}
	return nil
}
