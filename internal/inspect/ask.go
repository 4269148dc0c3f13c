package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"askback/forms"
	"askback/mcpmgr"
)

// AskKind is what a server asks with.
type AskKind string

// The kinds of an Ask. Roots are answered from the configuration and ask nobody.
const (
	AskForm     AskKind = "form"
	AskURL      AskKind = "url"
	AskSampling AskKind = "sampling"
)

// Ask is one thing that a server wants of the person.
type Ask struct {
	ID     uint64
	Run    uint64 // 0: a legacy server's own request
	Kind   AskKind
	Origin mcpmgr.Origin
	Since  time.Time

	Form     mcpmgr.FormRequest     // of AskForm
	URL      mcpmgr.URLRequest      // of AskURL
	Sampling mcpmgr.SamplingRequest // of AskSampling
}

// OriginNote is what a panel says of a request that came in an input_required result.
const OriginNote = "your answer goes back as a retry of the original request"

// ownRequest stands where a form of a call names the call.
const ownRequest = "a request of its own"

// Note is OriginNote for a round of a call, and "" for a legacy server's own request, whose answer is its response.
func (a *Ask) Note() string {
	if a.Origin.Pushed {
		return ""
	}
	return OriginNote
}

// Reply is a person's answer.
type Reply struct {
	Result  forms.Result    // to a form; to an address, its Action alone
	Message json.RawMessage // to sampling: a CreateMessageResult
	Reject  bool            // of sampling: no answer, and the call fails
}

// waiting is an Ask whose handler waits. Whoever takes it out of the map settles it.
type waiting struct {
	ask   *Ask
	reply chan Reply // buffered
}

func (i *Inspector) ask(ctx context.Context, a *Ask) (Reply, error) {
	w := &waiting{a, make(chan Reply, 1)}
	i.mu.Lock()
	i.lastAsk++
	a.ID, a.Since = i.lastAsk, i.opt.Now()
	i.asks[a.ID] = w
	i.mu.Unlock()
	i.opt.Tell(Asked{a})
	select {
	case r := <-w.reply:
		return r, nil
	case <-ctx.Done():
	}
	if i.take(a.ID) == nil { // answered in the same moment; the driver drops what comes after the end
		return <-w.reply, nil
	}
	why := context.Cause(ctx)
	i.opt.Tell(Withdrawn{a.ID, why.Error(), errors.Is(why, errAborted)})
	return Reply{}, why
}

func (i *Inspector) take(id uint64) *waiting {
	i.mu.Lock()
	defer i.mu.Unlock()
	w := i.asks[id]
	delete(i.asks, id)
	return w
}

// Answer gives the person's answer to an Ask. It reports whether the Ask still waited.
func (i *Inspector) Answer(ask uint64, r Reply) bool {
	w := i.take(ask)
	if w == nil {
		return false
	}
	w.reply <- r
	return true
}
