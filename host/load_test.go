package host

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"askback/host/access"
)

// TestLoad fills a Host with pending forms and answers them at random: ASKBACK_LOAD names
// how many providers there are (250 is the stated load; a few by default), of 8 calls
// each, in twice as many sessions of 4 calls.
func TestLoad(t *testing.T) {
	providers := 5
	if s := os.Getenv("ASKBACK_LOAD"); s != "" {
		providers, _ = strconv.Atoi(s)
	}
	const views, lines = 20, 4
	r := newRig(t, func(o *Options) { o.Logger = nil })
	var mu sync.Mutex
	delivered := map[string]time.Time{} // by value
	var wg sync.WaitGroup
	for i := range providers {
		p := r.connect(access.RoleProvider, 81, fmt.Sprint("p", i))
		p.publish(fmt.Sprint("srv", i), "tool")
		wg.Go(func() { serveLoad(p, 2*lines, &mu, delivered) })
	}
	terminals := make([]*peer, views)
	for i := range terminals {
		terminals[i] = r.connect(access.RoleClient, 81, fmt.Sprint("v", i))
	}
	sessions := make([]string, 2*providers)
	each(terminals, len(sessions), func(p *peer, i int) {
		sessions[i] = p.newSession("ask")
		p.start(sessions[i], strings.Repeat(fmt.Sprintf("/call srv%d/tool\n", i/2), lines))
	})
	type pendingForm struct{ session, id string }
	var forms []pendingForm
	each(terminals, len(sessions), func(p *peer, i int) {
		for {
			open := p.ok("subscription.open", frame{"sessionId": sessions[i], "transcript": frame{"kind": "none"}})
			p.ok("subscription.close", frame{"subscriptionId": open.text("subscriptionId")})
			list := open.at("snapshot.interactions.pending").([]any)
			if len(list) < lines {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			mu.Lock()
			defer mu.Unlock()
			for _, v := range list {
				forms = append(forms, pendingForm{sessions[i], frame(v.(map[string]any)).text("interactionId")})
			}
			return
		}
	})
	var full runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&full)
	rand.Shuffle(len(forms), func(i, j int) { forms[i], forms[j] = forms[j], forms[i] })
	sent := make([]time.Time, len(forms))
	began := time.Now()
	each(terminals, len(forms), func(p *peer, i int) {
		sent[i] = time.Now()
		p.ok("interaction.answer", frame{"sessionId": forms[i].session, "interactionId": forms[i].id, "answer": accepting(forms[i].id)})
	})
	wg.Wait()
	total := time.Since(began)
	var took []time.Duration
	for i, form := range forms {
		took = append(took, delivered[form.id].Sub(sent[i]))
	}
	slices.Sort(took)
	for _, s := range sessions {
		for {
			item := terminals[0].ok("session.catalog.query", frame{"kind": "get", "sessionId": s})
			if item.text("session.status") == "active" {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	t.Logf("%d forms answered in %v: p50 %v, p99 %v, max %v; %d MiB of heap with all pending, clients included",
		len(forms), total, took[len(took)/2], took[len(took)*99/100], took[len(took)-1], full.HeapAlloc>>20)
	if n := r.h.gate.broker.Active(); n != 0 {
		t.Errorf("%d calls are left", n)
	}
}

// each spreads n jobs over the peers, in order for each.
func each(peers []*peer, n int, job func(p *peer, i int)) {
	var wg sync.WaitGroup
	for k, p := range peers {
		wg.Go(func() {
			for i := k; i < n; i += len(peers) {
				job(p, i)
				p.queued = nil
			}
		})
	}
	wg.Wait()
}

// serveLoad asks one form a call and ends n calls with their answers.
func serveLoad(p *peer, n int, mu *sync.Mutex, delivered map[string]time.Time) {
	for n > 0 {
		f, err := p.tryRead()
		if err != nil {
			p.t.Errorf("a provider was cut off with %d calls left: %v", n, err)
			return
		}
		switch f.text("kind") {
		case "client.capability.call":
			p.tell("accepted", f, nil)
		case "client.capability.admitted":
			p.tell("interaction_request", f, frame{"interactionId": "n", "request": colour()})
		case "client.capability.interaction_result":
			mu.Lock()
			delivered[f.text("result.values.colour")] = time.Now()
			mu.Unlock()
			p.tell("result", f, frame{"result": frame{"content": []frame{}}})
		case "client.capability.release":
			n--
		}
	}
}
