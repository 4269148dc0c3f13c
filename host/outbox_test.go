package host

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"askback/protocol"
)

// drainOf takes everything that waits and describes it.
func drainOf(o *outbox) (out []string) {
	for {
		item, _ := o.take()
		if item == nil {
			return out
		}
		switch f := item.frame.(type) {
		case nil:
			out = append(out, string(item.data))
		case *protocol.SubscriptionClosed:
			out = append(out, fmt.Sprintf("%d %s", f.Sequence, f.Reason))
		case *protocol.SessionEvent:
			out = append(out, fmt.Sprintf("%d %s", f.Sequence, f.Event.ID))
		}
	}
}

func event(id string) *protocol.SessionEvent {
	return &protocol.SessionEvent{Event: protocol.ToolEvent{ID: id}}
}

func TestOutboxOrder(t *testing.T) {
	o := newOutbox()
	sub := &subQueue{next: 1}
	o.put([]byte("a"), nil)
	o.publish(sub, event("x"), 10, "")
	o.hint("s1", []byte("h1"))
	o.put([]byte("b"), nil)
	o.publish(sub, event("y"), 10, "")
	o.hint("s1", []byte("h2"))
	o.end(sub, protocol.ClosedSessionRemoved)
	if o.publish(sub, event("z"), 10, "") {
		t.Error("published to a subscription that has ended")
	}
	got := fmt.Sprint(drainOf(o))
	if want := "[a 1 x h2 b 2 y 3 session_removed]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOutboxBounds(t *testing.T) {
	o := newOutbox()
	for range protocol.MaxOutboundFrames {
		if !o.put([]byte("x"), nil) {
			t.Fatal("refused within the bound")
		}
	}
	if o.put([]byte("x"), nil) {
		t.Error("one frame too many")
	}
	o = newOutbox()
	half := make([]byte, protocol.MaxOutboundBytes/2)
	if !o.put(half, nil) || !o.put(half, nil) || o.put([]byte("x"), nil) {
		t.Error("the bound in bytes")
	}
	if o.roomFor(1) == nil {
		t.Error("there is no room")
	}
	o.take()
	if o.roomFor(1) != nil {
		t.Error("there is room")
	}
	if !o.put(half, nil) {
		t.Error("what was taken still counts")
	}
}

// TestSlowConsumer: a watcher that does not keep up gets the reason with the sequence
// that it waits for, and the connection goes on.
func TestSlowConsumer(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		taken int // before it falls behind
		fits  int
	}{
		{"frames", 1, 3, protocol.MaxSubscriberFrames},
		{"bytes", protocol.MaxSubscriberBytes / 4, 0, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, sub, other := newOutbox(), &subQueue{next: 1}, &subQueue{next: 1}
			for range c.taken {
				o.publish(sub, event("early"), c.size, "")
			}
			drainOf(o)
			o.publish(other, event("kept"), 1, "")
			for i := range c.fits {
				if !o.publish(sub, event("late"), c.size, "") {
					t.Fatalf("cut off at %d", i)
				}
			}
			if o.publish(sub, event("late"), c.size, "") {
				t.Fatal("one too many was taken in")
			}
			o.put([]byte("answer"), nil)
			got := fmt.Sprint(drainOf(o))
			if want := fmt.Sprintf("[1 kept %d slow_consumer answer]", c.taken+1); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestSuperseded: once room runs short only the newest of a kind waits, and no sequence
// is left out.
func TestSuperseded(t *testing.T) {
	o, sub := newOutbox(), &subQueue{next: 1}
	for i := range 100 {
		if !o.publish(sub, event(fmt.Sprint("p", i)), 1, "progress") {
			t.Fatalf("cut off at %d", i)
		}
	}
	got := drainOf(o)
	if n := len(got); n != protocol.MaxSubscriberFrames/2 || got[n-1] != fmt.Sprintf("%d p99", n) {
		t.Errorf("%v", got)
	}
	if sub.frames != 0 || sub.bytes != 0 || len(sub.same) != 0 {
		t.Errorf("the accounts: %+v", sub)
	}
}

// TestOutboxAccounts: whatever happens to an outbox, its sums are those of what waits.
func TestOutboxAccounts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := newOutbox()
		subs := []*subQueue{{next: 1}, {next: 1}}
		rt.Repeat(map[string]func(*rapid.T){
			"put":  func(rt *rapid.T) { o.put(make([]byte, rapid.IntRange(1, 1<<19).Draw(rt, "n")), nil) },
			"hint": func(rt *rapid.T) { o.hint(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "of"), []byte("h")) },
			"publish": func(rt *rapid.T) {
				o.publish(rapid.SampledFrom(subs).Draw(rt, "to"), event("e"), rapid.IntRange(1, 60<<10).Draw(rt, "size"),
					rapid.SampledFrom([]string{"", "p", "q"}).Draw(rt, "same"))
			},
			"end":  func(rt *rapid.T) { o.end(rapid.SampledFrom(subs).Draw(rt, "which"), protocol.ClosedSessionRemoved) },
			"drop": func(rt *rapid.T) { o.drop(subs[0]); subs[0] = &subQueue{next: 1} },
			"take": func(rt *rapid.T) { o.take() },
			"": func(rt *rapid.T) {
				frames, bytes, hints := 0, 0, 0
				of := map[*subQueue][2]int{}
				for _, item := range o.items {
					switch {
					case item.dead:
					case item.sub != nil && item.size > 0:
						sum := of[item.sub]
						of[item.sub] = [2]int{sum[0] + 1, sum[1] + item.size}
					case item.sub != nil:
					case item.hint != "":
						hints++
					default:
						frames, bytes = frames+1, bytes+item.size
					}
				}
				if frames != o.frames || bytes != o.bytes || hints != len(o.hints) {
					rt.Fatalf("%d frames, %d bytes, %d hints; counted %d, %d, %d", frames, bytes, hints, o.frames, o.bytes, len(o.hints))
				}
				for _, sub := range subs {
					if of[sub] != [2]int{sub.frames, sub.bytes} || sub.frames > protocol.MaxSubscriberFrames || sub.bytes > protocol.MaxSubscriberBytes {
						rt.Fatalf("%v, counted %d, %d", of[sub], sub.frames, sub.bytes)
					}
				}
			},
		})
	})
}
