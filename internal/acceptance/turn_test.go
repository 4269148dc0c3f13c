package acceptance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

// turn is one Turn in a session of its own.
type turn struct {
	r                *rig
	session, id, run string
}

// call starts a Turn of /call lines.
func (r *rig) call(lines ...string) *turn {
	r.t.Helper()
	item, err := r.view.CreateSession(r.ctx(), protocol.SessionCreateInput{Name: "acceptance"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.callIn(item.ID, lines...)
}

func (r *rig) callIn(session string, lines ...string) *turn {
	r.t.Helper()
	if err := r.view.Show(r.ctx(), session, hostclient.ShowOptions{Rows: true}); err != nil {
		r.t.Fatal(err)
	}
	tn := &turn{r: r, session: session, id: hostclient.NewID()}
	res, err := hostclient.StartTurn(r.ctx(), r.view, r.conn, protocol.TurnStartInput{SessionID: session, TurnID: tn.id,
		Content: protocol.Content{Text: strings.Join(lines, "\n")}})
	if err != nil {
		r.t.Fatal(err)
	}
	tn.run = res.Turn.RunID
	return tn
}

// until takes the view's events until ok holds for one.
func (r *rig) until(what string, ok func(hostclient.Event) bool) {
	r.t.Helper()
	for i, ev := range r.seen {
		if ok(ev) {
			r.seen = slices.Delete(r.seen, i, i+1)
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		ev, err := r.view.Next(ctx)
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(ev) {
			return
		}
		r.seen = append(r.seen, ev)
	}
}

// form waits for the Turn's next pending form.
func (tn *turn) form() (protocol.Interaction, forms.Form) {
	tn.r.t.Helper()
	var in protocol.Interaction
	tn.r.until("a form", func(ev hostclient.Event) bool {
		p, ok := ev.(hostclient.InteractionPending)
		if ok && p.Interaction.TurnID == tn.id && !p.Again {
			in = p.Interaction
			return true
		}
		return false
	})
	return in, in.Request.(*protocol.FormRequest).Form
}

// answer answers a form and wants it stored.
func (tn *turn) answer(in protocol.Interaction, res forms.Result) {
	tn.r.t.Helper()
	if _, err := tn.r.view.Answer(tn.r.ctx(), in.SessionID, in.InteractionID, &protocol.FormAnswer{Result: res}); err != nil {
		tn.r.t.Fatalf("answer: %v", err)
	}
}

// settled waits for a form's canonical end.
func (tn *turn) settled(in protocol.Interaction) protocol.InteractionOutcome {
	tn.r.t.Helper()
	ctx := tn.r.ctx()
	for {
		now, err := tn.r.view.Interaction(ctx, in.SessionID, in.InteractionID)
		if err != nil {
			tn.r.t.Fatal(err)
		}
		if now.Outcome != nil {
			return now.Outcome
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// result is one tool result of a Turn.
type result struct {
	text      string
	isError   bool
	uncertain bool
	raw       json.RawMessage
}

// end waits for the Turn's end and returns it with its tool results in transcript order.
func (tn *turn) end() (*protocol.TurnSnapshot, []result) {
	tn.r.t.Helper()
	var snap *protocol.TurnSnapshot
	for late := time.Now().Add(patienceOf(tn.r.t)); ; {
		var err error
		if snap, err = tn.r.view.Turn(tn.r.ctx(), tn.session, tn.id); err != nil {
			tn.r.t.Fatal(err)
		}
		if snap.Status.Terminal() {
			break
		}
		if time.Now().After(late) {
			tn.r.t.Fatalf("the Turn does not end: %s", snap.Status)
		}
		time.Sleep(5 * time.Millisecond)
	}
	tn.r.rest()
	return snap, tn.results()
}

// rest waits until the manager works on no call that the Host has let go of, so that what servers were sent can be
// counted.
func (r *rig) rest() {
	r.t.Helper()
	waitFor(r.t, "the end of the manager's calls", func() bool { return r.busy.Load() <= int64(r.host.Active()) })
}

// results reads the transcript anew, as a surface that comes later does.
func (tn *turn) results() []result {
	tn.r.t.Helper()
	var out []result
	for _, row := range tn.rows() {
		if row.Type != protocol.RowToolResult {
			continue
		}
		res := result{isError: row.IsError != nil && *row.IsError, text: row.Content.Text, raw: json.RawMessage(row.Content.Value)}
		res.uncertain = row.Content.UncertainOutcome != nil
		if row.Content.Kind == protocol.RowContentJSON {
			res.text = string(row.Content.Value)
		}
		out = append(out, res)
	}
	return out
}

func (tn *turn) rows() []protocol.Row {
	tn.r.t.Helper()
	v := hostclient.NewView(tn.r.options(tn.r.client))
	defer v.Close()
	if err := v.Ready(tn.r.ctx()); err != nil {
		tn.r.t.Fatal(err)
	}
	if err := v.Show(tn.r.ctx(), tn.session, hostclient.ShowOptions{Rows: true}); err != nil {
		tn.r.t.Fatal(err)
	}
	var rows []protocol.Row
	for {
		ev, err := v.Next(tn.r.ctx())
		if err != nil {
			tn.r.t.Fatal(err)
		}
		if e, ok := ev.(hostclient.TranscriptRows); ok {
			for _, row := range e.Rows {
				if row.TurnID == tn.id || tn.id == "" {
					rows = append(rows, row.Row)
				}
			}
			if e.HasOlder {
				older, _, err := v.OlderRows(tn.r.ctx(), tn.session, 1<<20)
				if err != nil {
					tn.r.t.Fatal(err)
				}
				for _, row := range older {
					if row.TurnID == tn.id {
						rows = append([]protocol.Row{row.Row}, rows...)
					}
				}
			}
			return rows
		}
	}
}
