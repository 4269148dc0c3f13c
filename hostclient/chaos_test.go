package hostclient_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"askback/hostclient"
	"askback/protocol"
)

// chaos is a Host that answers when and how it likes, loses frames, closes subscriptions and drops connections. It knows
// which Interactions it holds, and how they ended.
type chaos struct {
	*scripted
	rng     *rand.Rand
	records map[string]*protocol.Interaction // by id; pending or ended
	told    map[string]int                   // answers that arrived for an id
	next    int
}

// serve is one connection's life.
func (c *chaos) serve(p *peer) {
	f, err := p.read()
	hello, ok := f.(*protocol.Hello)
	if err != nil || !ok {
		return
	}
	p.dialect = protocol.Dialect(hello.CompatibilityEpoch)
	p.send(&protocol.Accepted{RootID: c.root, HostEpoch: c.epoch, ConnectionID: "c", CompatibilityEpoch: p.dialect,
		CompositionID: protocol.CompositionID, CompositionRevision: "1", State: protocol.HostReady})
	subs := map[string]*protocol.SubscriptionHeader{}
	for range 200 {
		if c.rng.IntN(60) == 0 {
			p.drop()
			return
		}
		m, ok := p.next(time.Duration(1+c.rng.IntN(2000)) * time.Millisecond)
		switch {
		case ok && m.err != nil:
			return
		case ok:
			f, err := protocol.DecodeClientFrame(m.data, p.dialect)
			if err != nil {
				c.t.Errorf("an illegal frame: %v", err)
				return
			}
			c.answer(p, f.(*protocol.Request), subs)
		}
		c.act(p, subs)
	}
	p.drop()
}

func (c *chaos) pending() []protocol.Interaction {
	all := []protocol.Interaction{}
	for i := range c.next {
		if r := c.records[fmt.Sprint("i", i)]; r.Status == protocol.InteractionPending {
			all = append(all, *r)
		}
	}
	return all
}

// act does something unasked.
func (c *chaos) act(p *peer, subs map[string]*protocol.SubscriptionHeader) {
	switch c.rng.IntN(6) {
	case 0:
		if len(c.pending()) < 8 {
			in := form(fmt.Sprint("i", c.next))
			c.records[in.InteractionID] = &in
			c.next++
		}
	case 1:
		if all := c.pending(); len(all) > 0 {
			in := all[c.rng.IntN(len(all))]
			c.records[in.InteractionID] = closed(in.InteractionID, protocol.ClosedTurnStopped)
		}
	}
	for id, h := range subs {
		switch c.rng.IntN(12) {
		case 0:
			h.Sequence++ // a lost frame
		case 1:
			p.send(&protocol.SubscriptionClosed{SubscriptionHeader: *h, Reason: protocol.ClosedSlowConsumer})
			delete(subs, id)
		default:
			p.projects(h, snapshot("s1", c.pending()...))
		}
	}
}

func (c *chaos) answer(p *peer, r *protocol.Request, subs map[string]*protocol.SubscriptionHeader) {
	if c.rng.IntN(8) == 0 && r.Operation != protocol.OpInteractionAnswer {
		p.refuse(r.RequestID, r.Operation, []protocol.ErrorCode{protocol.CodeInternalFailure, protocol.CodeHostDraining, protocol.CodeProjectionIncomplete}[c.rng.IntN(3)])
		return
	}
	switch in := r.Input.(type) {
	case *protocol.SubscriptionOpenInput:
		c.next++
		id := fmt.Sprint("i", c.next-1)
		fresh := form(id)
		c.records[id] = &fresh
		sub := fmt.Sprint("sub-", c.rng.Uint64())
		p.answer(r.RequestID, r.Operation, &protocol.SubscriptionOpenResult{HostEpoch: c.epoch, SubscriptionID: sub, NextSequence: 1,
			Snapshot: snapshot("s1", c.pending()...), ActiveAssistantStreams: []protocol.AssistantStream{}})
		subs[sub] = &protocol.SubscriptionHeader{HostEpoch: c.epoch, SubscriptionID: sub, Sequence: 1}
	case *protocol.SubscriptionCloseInput:
		delete(subs, in.SubscriptionID)
		p.answer(r.RequestID, r.Operation, &protocol.SubscriptionCloseResult{SubscriptionID: in.SubscriptionID})
	case *protocol.InteractionQueryInput:
		p.answer(r.RequestID, r.Operation, c.records[in.InteractionID])
	case *protocol.InteractionAnswerInput:
		c.told[in.InteractionID]++
		rec := c.records[in.InteractionID]
		text := in.Answer.(*protocol.FormAnswer).Result.Values["which"].Text()
		switch {
		case rec.Status != protocol.InteractionPending:
			p.refuse(r.RequestID, r.Operation, protocol.CodeAlreadyResolved)
		case c.rng.IntN(4) == 0: // stored, and the connection dies before it says so
			c.records[in.InteractionID] = answered(in.InteractionID, text)
			p.drop()
		case c.rng.IntN(4) == 0: // dies before it is stored
			p.drop()
		default:
			c.records[in.InteractionID] = answered(in.InteractionID, text)
			p.answer(r.RequestID, r.Operation, c.records[in.InteractionID])
		}
	default:
		p.refuse(r.RequestID, r.Operation, protocol.CodeNotFound)
	}
}

// TestChaos: whatever the Host does, each Interaction is told as pending before and settled after, settled once and as
// the Host has it; what Answer returns is what the Host has; and Close ends everything.
func TestChaos(t *testing.T) {
	runs := 10
	if n, err := strconv.Atoi(os.Getenv("ASKBACK_TEST_CHAOS")); err == nil {
		runs = n
	}
	for seed := range runs {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { chaosRun(t, uint64(seed)) })
		})
	}
}

func chaosRun(t *testing.T, seed uint64) {
	c := &chaos{scripted: newScripted(t), rng: rand.New(rand.NewPCG(seed, 7)), records: map[string]*protocol.Interaction{}, told: map[string]int{}}
	v := hostclient.NewView(c.options())
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() { // the Host
		for {
			select {
			case p := <-c.conns:
				c.serve(p)
				p.drop()
			case <-ctx.Done():
				return
			}
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil && v.Show(ctx, "s1", hostclient.ShowOptions{}) != nil {
			time.Sleep(time.Second) // refused: try again
		}
	})
	pending, settled := map[string]bool{}, map[string]hostclient.InteractionSettled{}
	var answers sync.WaitGroup
	wg.Go(func() { // the person
		person := rand.New(rand.NewPCG(seed, 8))
		for {
			e, err := v.Next(context.Background())
			if err != nil {
				return
			}
			switch e := e.(type) {
			case hostclient.InteractionPending:
				id := e.Interaction.InteractionID
				if _, done := settled[id]; done {
					t.Errorf("%s is told as pending after it settled", id)
				}
				if e.Again != pending[id] {
					t.Errorf("%s: again %v, told before %v", id, e.Again, pending[id])
				}
				pending[id] = true
				if person.IntN(2) == 0 && !e.Again {
					thinks := time.Duration(person.IntN(5)) * time.Second
					answers.Go(func() {
						time.Sleep(thinks)
						in, err := v.AnswerForm(ctx, "s1", id, says("from "+id))
						if err == nil && in.Status != protocol.InteractionAnswered {
							t.Errorf("%s: stored as %+v", id, in)
						}
					})
				}
			case hostclient.InteractionSettled:
				if _, twice := settled[e.InteractionID]; twice || !pending[e.InteractionID] {
					t.Errorf("%s settled twice (%v) or without being told as pending", e.InteractionID, twice)
				}
				settled[e.InteractionID] = e
			}
		}
	})
	time.Sleep(20 * time.Minute)
	stop()
	v.Close()
	answers.Wait()
	wg.Wait()
	for id, e := range settled {
		if e.Err == nil && !e.Gone && e.Interaction.Status != c.records[id].Status {
			t.Errorf("%s was told as %s and is %s", id, e.Interaction.Status, c.records[id].Status)
		}
	}
	if len(settled) == 0 {
		t.Error("nothing settled")
	}
}
