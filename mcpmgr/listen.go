package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pauses of a change stream: how long an acknowledgment may take, and how long to wait before a
// stream that ended is opened again.
const (
	ackTime      = 10 * time.Second
	relistenMin  = time.Second
	relistenMax  = 30 * time.Second
	streamTime   = 2 * time.Second        // for a legacy server's stream to begin
	refreshPause = 50 * time.Millisecond  // gathers a burst of notices into one refresh
	refreshRest  = 250 * time.Millisecond // between two refreshes, however many notices there are
)

// Why a server gives no change notices, as its panel says it.
const (
	noticesOpening     = "no change notices yet: the subscription is being opened"
	noticesNotDeclared = "no change notices: the server does not announce changes"
	noticesNoAck       = "no change notices: the server does not acknowledge the subscription"
	noticesRefused     = "no change notices: the server refuses the subscription"
	noticesEnded       = "no change notices: the stream ended and is being opened again"
	noticesNoStream    = "no change notices: the server offers no stream for them"
)

// subscription is one subscriptions/listen request on the wire.
type subscription struct {
	id    int64
	acked bool
	grant map[string]bool // what the acknowledgment grants
	ack   chan struct{}   // closed with the acknowledgment
	end   context.CancelCauseFunc
}

func (s *session) setNotices(text string) {
	s.mu.Lock()
	same := s.notices == text
	s.notices = text
	s.mu.Unlock()
	if !same {
		s.onChange()
	}
}

// watch keeps the session's change notices alive for as long as the session is. refresh is asked
// for whenever the tools may have changed.
func (s *session) watch() {
	_, tools := s.capability("tools", "listChanged")
	_, prompts := s.capability("prompts", "listChanged")
	_, resources := s.capability("resources", "listChanged")
	var filter builder
	if tools {
		filter.add("toolsListChanged", []byte("true"))
	}
	if s.opt.Inspect != nil && prompts {
		filter.add("promptsListChanged", []byte("true"))
	}
	if s.opt.Inspect != nil && resources {
		filter.add("resourcesListChanged", []byte("true"))
	}
	if filter.b.Len() == 0 {
		s.setNotices(noticesNotDeclared)
	}
	switch {
	case s.modern() && filter.b.Len() > 0:
		s.setNotices(noticesOpening)
		s.wg.Go(func() { s.keepListening(filter.bytes(), tools) })
	case !s.modern() && s.http != nil && (filter.b.Len() > 0 || s.opt.Inspect != nil):
		if filter.b.Len() > 0 {
			s.setNotices(noticesOpening)
		}
		begun := make(chan struct{})
		s.wg.Go(func() { s.keepStreaming(tools, filter.b.Len() > 0, begun) })
		if s.opt.Inspect != nil { // a server may push its requests there from the first call on
			t := time.NewTimer(streamTime)
			defer t.Stop()
			select {
			case <-begun:
			case <-t.C:
			case <-s.ctx.Done():
			}
		}
	}
}

// keepListening opens the subscription and opens it again when it ends. What changed in between
// is not announced, so the tools are listed again then.
func (s *session) keepListening(filter json.RawMessage, tools bool) {
	pause := relistenMin
	for first := true; ; first = false {
		began := time.Now()
		err := s.listenUnder(s.ctx, filter, func(sub *subscription) {
			if tools && !sub.grant["toolsListChanged"] {
				s.setNotices(noticesRefused)
			} else {
				s.setNotices("")
			}
			if tools && (!first || s.toolsNow() != nil) {
				s.noteRefresh() // what changed before the acknowledgment was not announced
			}
		})
		if s.ctx.Err() != nil {
			return
		}
		if code, ok := rpcCode(err); ok {
			s.log.Info("subscription refused", "server", s.server, "code", code)
			s.setNotices(noticesRefused)
			return
		}
		s.mu.Lock()
		quiet := s.notices == ""
		s.mu.Unlock()
		if quiet {
			s.setNotices(noticesEnded)
		}
		if time.Since(began) > relistenMax {
			pause = relistenMin
		}
		if sleep(s.ctx, pause) != nil {
			return
		}
		pause = min(2*pause, relistenMax)
	}
}

// listenUnder runs one subscription until it or ctx ends. granted is called with its acknowledgment.
func (s *session) listenUnder(ctx context.Context, filter json.RawMessage, granted func(*subscription)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sub := &subscription{id: s.ids.Add(1), ack: make(chan struct{}), end: cancel}
	s.mu.Lock()
	if s.listens == nil {
		s.listens = map[int64]*subscription{}
	}
	s.listens[sub.id] = sub
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listens, sub.id)
		s.mu.Unlock()
	}()
	done := make(chan error, 1)
	ok := s.spawn(func() {
		var b builder
		b.add("notifications", filter).add("_meta", s.meta(json.RawMessage("{}"), ""))
		raw, err := s.link.do(ctx, &request{id: sub.id, method: "subscriptions/listen", params: b.bytes(), modern: true, version: s.version})
		if err == nil {
			err = s.checkComplete("subscriptions/listen", raw)
		}
		done <- err
	})
	if !ok {
		return errLinkClosed
	}
	timer := time.NewTimer(ackTime)
	defer timer.Stop()
	select {
	case <-sub.ack:
		granted(sub)
	case <-timer.C:
		s.noAck(filter)
		select {
		case <-sub.ack: // late, but then it counts
			granted(sub)
		case err := <-done:
			return err
		}
	case err := <-done:
		select {
		case <-sub.ack:
			granted(sub)
		default:
			s.noAck(filter)
		}
		return err
	}
	return <-done
}

// noAck says in the panel that changes are not announced; a resource's own stream says nothing.
func (s *session) noAck(filter json.RawMessage) {
	if _, ok := lookup(filter, "resourceSubscriptions"); !ok {
		s.setNotices(noticesNoAck)
	}
}

// noteChange handles the notifications that belong to subscriptions. On a modern connection one
// counts only under an acknowledged subscription that grants it.
func (s *session) noteChange(method string, params json.RawMessage) {
	if s.eraNow() == EraLegacy {
		if method != "notifications/cancelled" {
			s.changed(method, params)
			return
		}
		id, _ := lookup(params, "requestId")
		s.takeBack(string(id))
		return
	}
	if method == "notifications/cancelled" { // the server tears a subscription down
		id, _ := lookup(params, "requestId")
		if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
			s.mu.Lock()
			sub := s.listens[n]
			s.mu.Unlock()
			if sub != nil {
				sub.end(errors.New("the server ended the subscription"))
			}
		}
		return
	}
	meta, _ := lookup(params, "_meta")
	id, _ := lookup(meta, mcp.MetaKeySubscriptionID)
	n, err := strconv.ParseInt(string(id), 10, 64)
	s.mu.Lock()
	sub := s.listens[n]
	if err != nil || sub == nil {
		s.mu.Unlock()
		s.log.Info("notice of no subscription of ours", "server", s.server, "method", method)
		return
	}
	if method == "notifications/subscriptions/acknowledged" {
		if !sub.acked {
			sub.acked = true
			sub.grant = granted(params)
			close(sub.ack)
		}
		s.mu.Unlock()
		return
	}
	ok := sub.acked && sub.grant[grantOf[method]]
	s.mu.Unlock()
	if !ok {
		s.log.Info("notice that was not granted", "server", s.server, "method", method)
		return
	}
	s.changed(method, params)
}

var grantOf = map[string]string{
	"notifications/tools/list_changed":     "toolsListChanged",
	"notifications/prompts/list_changed":   "promptsListChanged",
	"notifications/resources/list_changed": "resourcesListChanged",
	"notifications/resources/updated":      "resourceSubscriptions",
}

func granted(params json.RawMessage) map[string]bool {
	out := map[string]bool{}
	n, _ := lookup(params, "notifications")
	ms, _ := members(n)
	for _, m := range ms {
		out[m.name] = string(m.val) == "true" || m.name == "resourceSubscriptions" && m.val[0] == '['
	}
	return out
}

// changed acts on a notice that counts.
func (s *session) changed(method string, params json.RawMessage) {
	switch method {
	case "notifications/tools/list_changed":
		s.event(Event{Kind: EventToolsChanged})
		s.noteRefresh()
	case "notifications/prompts/list_changed":
		s.event(Event{Kind: EventPromptsChanged})
	case "notifications/resources/list_changed":
		s.event(Event{Kind: EventResourcesChanged})
	case "notifications/resources/updated":
		uri, _ := lookup(params, "uri")
		text, _ := stringValue(uri)
		s.event(Event{Kind: EventResourceUpdated, URI: text})
	}
}

// noteRefresh asks the session's refresher for one more listing.
func (s *session) noteRefresh() {
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// refresher lists the tools again whenever they may have changed, one listing at a time. A
// listing that fails keeps the old list, and says so.
func (s *session) refresher() {
	for {
		select {
		case <-s.stale:
		case <-s.ctx.Done():
			return
		}
		if sleep(s.ctx, refreshPause) != nil {
			return
		}
		select {
		case <-s.stale: // the rest of a burst
		default:
		}
		if err := s.refreshTools(s.ctx); err != nil && s.ctx.Err() == nil {
			why := s.recent.describe(err)
			s.log.Warn("the tools could not be listed again", "server", s.server, "why", why)
			s.warnTools("the tools could not be listed again: " + why)
		}
		if sleep(s.ctx, refreshRest) != nil {
			return
		}
	}
}

// warnTools adds a warning to the current list.
func (s *session) warnTools(text string) {
	s.mu.Lock()
	if s.tools != nil {
		l := *s.tools
		l.warnings = append(l.warnings[:len(l.warnings):len(l.warnings)], text)
		s.tools = &l
	}
	s.mu.Unlock()
	s.onChange()
}

// keepStreaming reads a legacy HTTP server's GET stream and opens it again when it ends. begun is
// closed when the first attempt succeeded or failed; announces says whether the server announces
// changes there.
func (s *session) keepStreaming(tools, announces bool, begun chan struct{}) {
	once := sync.OnceFunc(func() { close(begun) })
	defer once()
	notices := func(text string) {
		if announces {
			s.setNotices(text)
		}
	}
	pause, lastID := relistenMin, ""
	for first := true; ; first = false {
		began := time.Now()
		err := s.http.stream(s.ctx, &lastID, func() {
			once()
			notices("")
			if !first && tools {
				s.noteRefresh()
			}
		})
		once()
		if s.ctx.Err() != nil {
			return
		}
		if e, ok := errors.AsType[*errStatus](err); ok && e.status < 500 && e.status != 429 {
			notices(noticesNoStream)
			return
		}
		notices(noticesEnded)
		if time.Since(began) > relistenMax {
			pause = relistenMin
		}
		if sleep(s.ctx, pause) != nil {
			return
		}
		pause = min(2*pause, relistenMax)
	}
}

// sleep waits for d or the end of ctx, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
