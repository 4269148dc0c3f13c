package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

const (
	watchOpen   = protocol.MaxSubscriptions - 1 // sessions kept open; one subscription is left for the sweep
	watchSweep  = 5 * time.Second               // between two looks at the others
	watchSettle = 250 * time.Millisecond        // hints about the catalog come in swarms
)

// watcher tells what is added to and taken from the pending entries of a Host. It keeps the most recently used
// waiting sessions open and looks into the others from time to time.
type watcher struct {
	g      *globals
	v      *hostclient.View
	asJSON bool
	open   []string                        // sessions that are shown
	told   map[string]protocol.Interaction // by SESSION/INTERACTION
	others []string                        // waiting sessions that are not shown
}

func newWatcher(g *globals, v *hostclient.View, asJSON bool) *watcher {
	return &watcher{g: g, v: v, asJSON: asJSON, told: map[string]protocol.Interaction{}}
}

func (w *watcher) run(ctx context.Context) error {
	events := make(chan hostclient.Event)
	ended := make(chan error, 1)
	go func() { // ends with ctx, or when the view is closed
		for {
			ev, err := w.v.Next(ctx)
			if err != nil {
				ended <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				ended <- context.Cause(ctx)
				return
			}
		}
	}()
	refresh := time.NewTimer(0)
	defer refresh.Stop()
	sweep := time.NewTicker(watchSweep)
	defer sweep.Stop()
	for {
		var err error
		select {
		case ev := <-events:
			var again bool
			if again, err = w.handle(ev); again {
				refresh.Reset(watchSettle)
			}
		case <-refresh.C:
			err = w.refresh(ctx)
		case <-sweep.C:
			err = w.sweep(ctx)
		case err = <-ended:
		}
		if lost := w.g.env.unwritten(); lost != nil { // nobody reads what is told
			return lost
		}
		switch {
		case ctx.Err() != nil:
			return &exitError{code: exitStopped, silent: true, err: context.Cause(ctx)}
		case err == nil:
		case lostMeanwhile(err): // the view connects again, and tells
		default:
			return connectError(err)
		}
	}
}

func lostMeanwhile(err error) bool {
	switch hostclient.CodeOf(err) {
	case hostclient.CodeNotConnected, hostclient.CodeRequestLost:
		return true
	}
	return false
}

// handle takes one event and says whether the catalog must be read again.
func (w *watcher) handle(ev hostclient.Event) (again bool, err error) {
	switch ev := ev.(type) {
	case hostclient.CatalogChanged:
		return ev.Catalog == hostclient.CatalogSessions, nil
	case hostclient.InteractionPending:
		w.added(ev.Interaction)
	case hostclient.InteractionSettled:
		w.closed(ev.SessionID, ev.InteractionID, ev.Interaction)
	case hostclient.SessionClosed:
		w.open = slices.DeleteFunc(w.open, func(id string) bool { return id == ev.SessionID })
		return true, nil
	case hostclient.Connection:
		return w.connection(ev)
	}
	return false, nil
}

func (w *watcher) connection(c hostclient.Connection) (again bool, err error) {
	switch c.State {
	case hostclient.StateReady:
		return true, nil
	case hostclient.StateRefused:
		return false, c.Cause
	case hostclient.StateWaiting:
		fmt.Fprintf(w.g.env.stderr, "askback: %v; connecting again\n", c.Cause)
	}
	return false, nil
}

// refresh reads the catalog and opens the sessions that matter most.
func (w *watcher) refresh(ctx context.Context) error {
	ids, err := waitingSessions(ctx, w.g, w.v)
	if err != nil {
		return err
	}
	want := ids[:min(len(ids), watchOpen)]
	w.others = slices.Clone(ids[len(want):])
	for _, id := range slices.Clone(w.open) {
		if !slices.Contains(want, id) && !w.holds(id) {
			w.v.Hide(id)
			w.open = slices.DeleteFunc(w.open, func(o string) bool { return o == id })
		}
	}
	for _, id := range want {
		if slices.Contains(w.open, id) {
			continue
		}
		if len(w.open) == watchOpen {
			w.others = append(w.others, id)
			continue
		}
		if err := w.v.Show(ctx, id, hostclient.ShowOptions{}); err != nil {
			if hostclient.RefusalOf(err) != "" {
				continue // gone, or refused: the next reading of the catalog says
			}
			return err
		}
		w.open = append(w.open, id)
	}
	return w.sweep(ctx)
}

// holds says whether something of a session was told as pending and not closed yet.
func (w *watcher) holds(session string) bool {
	for _, in := range w.told {
		if in.SessionID == session {
			return true
		}
	}
	return false
}

// sweep looks into the waiting sessions that are not open.
func (w *watcher) sweep(ctx context.Context) error {
	for _, id := range w.others {
		snapshot, err := peek(ctx, w.v, id)
		if err != nil {
			return err
		}
		var pending []protocol.Interaction
		if snapshot != nil {
			pending = snapshot.Interactions.Pending
		}
		for _, in := range pending {
			w.added(in)
		}
	}
	return w.settleGone(ctx)
}

// settleGone asks for entries of sessions that are neither open nor waiting any more, or whose entry has left.
func (w *watcher) settleGone(ctx context.Context) error {
	for _, in := range w.told {
		if slices.Contains(w.open, in.SessionID) {
			continue // its own events tell
		}
		now, err := w.v.Interaction(ctx, in.SessionID, in.InteractionID)
		switch {
		case hostclient.RefusalOf(err) == protocol.CodeNotFound:
			w.closed(in.SessionID, in.InteractionID, protocol.Interaction{})
		case err != nil:
			return err
		case now.Outcome != nil:
			w.closed(in.SessionID, in.InteractionID, *now)
		}
	}
	return nil
}

func key(session, interaction string) string { return session + "/" + interaction }

func (w *watcher) added(in protocol.Interaction) {
	k := key(in.SessionID, in.InteractionID)
	if _, known := w.told[k]; known {
		return
	}
	w.told[k] = in
	if !w.asJSON {
		fmt.Fprintln(w.g.env.stdout, "+ "+pendingLine(in))
		return
	}
	if raw, err := protocol.ShowInteraction(&in); err == nil {
		printJSON(w.g.env.stdout, map[string]any{"event": "pending", "interaction": json.RawMessage(raw)})
	}
}

func (w *watcher) closed(session, id string, in protocol.Interaction) {
	k := key(session, id)
	if _, known := w.told[k]; !known {
		return
	}
	delete(w.told, k)
	if !w.asJSON {
		fmt.Fprintf(w.g.env.stdout, "- %s  %s\n", k, settledSentence(in, in.Outcome == nil))
		return
	}
	body := map[string]any{"event": "settled", "sessionId": session, "interactionId": id}
	outcomeJSON(body, in)
	printJSON(w.g.env.stdout, body)
}

// outcomeJSON says how an Interaction ended. Values are nobody's business here.
func outcomeJSON(body map[string]any, in protocol.Interaction) {
	switch o := in.Outcome.(type) {
	case *protocol.FormOutcome:
		body["status"], body["action"] = "answered", o.Result.Action
	case *protocol.Closure:
		body["status"], body["reason"] = "closed", o.Reason
	case nil:
		body["status"] = "gone"
	default:
		body["status"] = "answered"
	}
}
