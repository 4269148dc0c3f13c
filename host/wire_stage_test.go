package host_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
)

// session creates a session with a permission mode.
func (p *peer) session(mode string) string {
	p.w.Helper()
	id := p.w.id("s")
	p.ok("session.create", obj{"sessionId": id, "workspace": obj{"kind": "project", "projectId": "default"}, "modelTarget": obj{"kind": "default"}, "permissionMode": mode})
	return id
}

// offer is an offer of session affinity with plain tools of one server.
func offer(id, server string, tools ...string) obj {
	var list []any
	for _, t := range tools {
		list = append(list, obj{"serverId": server, "name": t, "description": "Echo.", "inputSchema": obj{"type": "object"}})
	}
	return obj{"offerId": id, "version": "1", "affinity": "session", "hostPathAccess": "none", "label": "Wire tools", "tools": list}
}

// publish replaces what the connection offers and returns the registration's id.
func (p *peer) publish(offers ...obj) string {
	p.w.Helper()
	id := p.w.id("reg")
	p.ok("client.capability.replace", obj{"registrationId": id, "offers": offers})
	return id
}

func (p *peer) start(session, text string) (turn, run string) {
	p.w.Helper()
	turn = p.w.id("t")
	r := p.ok("turn.start", obj{"sessionId": session, "turnId": turn, "content": obj{"text": text}})
	run, _ = dig(r, "turn", "runId").(string)
	return turn, run
}

func (p *peer) cap(kind, invocation string, more obj) {
	p.w.Helper()
	f := obj{"kind": "client.capability." + kind, "invocationId": invocation}
	if kind == "accepted" && p.epoch == 81 {
		f["admissionEvidence"] = obj{"kind": "none"}
	}
	for k, v := range more {
		f[k] = v
	}
	p.send(f)
}

func textResult(s string) obj {
	return obj{"result": obj{"content": []any{obj{"type": "text", "text": s}}}}
}

type stage struct {
	*wire
	view, prov        *peer
	session           string
	turn, run, inv    string
	toolCall, regName string
	sub               string
}

func (w *wire) newStage(epoch int) *stage {
	w.Helper()
	s := &stage{wire: w}
	s.view = w.connect("client", "term", 81)
	s.prov = w.connect("provider", "term", epoch)
	s.regName = s.prov.publish(offer("wire-offer", "wire", "echo"))
	s.session = s.view.session("ask")
	s.sub = text(s.view.ok("subscription.open", obj{"sessionId": s.session, "transcript": obj{"kind": "none"}}), "subscriptionId")
	s.turn, s.run = s.view.start(s.session, "/call wire/echo {}")
	s.inv = s.called(s.prov)
	return s
}

func (s *stage) called(p *peer) string {
	s.Helper()
	settle()
	calls := pick(p.take(), "client.capability.call")
	if len(calls) != 1 {
		s.Fatalf("%d calls came in", len(calls))
	}
	s.toolCall = text(calls[0], "toolCallId")
	return text(calls[0], "invocationId")
}

func (s *stage) admit() {
	s.Helper()
	s.prov.cap("accepted", s.inv, nil)
	settle()
	if got := kinds(s.prov.take()); got != "admitted" {
		s.Fatalf("after accepted came %q", got)
	}
}

func form() obj {
	return obj{"message": "Which colour?", "requester": obj{"name": "claimed", "source": "claimed source"}, "fields": []any{
		obj{"kind": "string", "name": "colour", "label": "Colour", "required": true, "maxLength": 20},
		obj{"kind": "integer", "name": "count", "label": "Count", "required": false, "minimum": 1, "maximum": 5},
	}}
}

func (s *stage) askForm(nested string) string {
	s.Helper()
	s.prov.cap("interaction_request", s.inv, obj{"interactionId": nested, "request": form()})
	list := s.pending()
	if len(list) == 0 {
		s.Fatalf("no form is pending: %s", lastLine(s.log))
	}
	return text(list[len(list)-1], "interactionId")
}

func (s *stage) pending() []any {
	s.Helper()
	return s.pendingOf(s.view, s.session)
}

func (s *stage) pendingOf(p *peer, session string) (list []any) {
	s.Helper()
	settle()
	p.keep(func() {
		r := p.ok("subscription.open", obj{"sessionId": session, "transcript": obj{"kind": "none"}})
		list, _ = dig(r, "snapshot", "interactions", "pending").([]any)
		p.ok("subscription.close", obj{"subscriptionId": r["subscriptionId"]})
		p.take()
	})
	return list
}

func accept(colour string) obj {
	return obj{"kind": "form", "action": "accept", "values": obj{"colour": colour}}
}

func (s *stage) answerInput(interaction string, answer obj) obj {
	return obj{"sessionId": s.session, "interactionId": interaction, "answer": answer}
}

func (s *stage) query(interaction string) obj {
	s.Helper()
	return s.view.ok("interaction.query", obj{"sessionId": s.session, "interactionId": interaction})
}

func (s *stage) wantOutcome(interaction, want string) {
	s.Helper()
	in := s.query(interaction)
	got := text(in, "outcome", "reason") + text(in, "outcome", "action")
	status := map[bool]string{true: "answered", false: "closed"}[dig(in, "outcome", "action") != nil]
	if got != want || in["status"] != status || in["revision"] != 2.0 {
		s.Errorf("the form ended %v, wanted %s", in, want)
	}
}

func (s *stage) wantCall(isError bool, want string, uncertain bool) {
	s.Helper()
	rows := s.rows(s.session, "tool_result")
	var mine []obj
	for _, r := range rows {
		if r["toolUseId"] == s.toolCall {
			mine = append(mine, r)
		}
	}
	if len(mine) != 1 {
		s.Fatalf("%d result rows: %v", len(mine), mine)
	}
	r := mine[0]
	got := text(r, "content", "text")
	if !isError {
		got = text(r, "content", "value", "content", 0, "text")
	}
	if r["isError"] != isError || got != want || (dig(r, "content", "uncertainOutcome") != nil) != uncertain {
		s.Errorf("the result row is %v, wanted error %v %q uncertain %v", r, isError, want, uncertain)
	}
	if uncertain {
		if u := dig(r, "content", "uncertainOutcome"); text(u, "code") != "outcome_unknown" || dig(u, "retrySafe") != false {
			s.Errorf("uncertainOutcome %v", u)
		}
	}
}

func (s *stage) wantTurn(status string) obj {
	s.Helper()
	settle()
	t := s.view.ok("turn.query", obj{"sessionId": s.session, "turnId": s.turn})
	if t["status"] != status {
		s.Errorf("the Turn is %v, wanted %s", t, status)
	}
	return t
}

func (w *wire) rows(session, kind string) []obj {
	w.Helper()
	reader := w.connect("client", w.id("reader"), 81)
	defer reader.ws.NetConn().Close()
	open := reader.ok("subscription.open", obj{"sessionId": session, "transcript": obj{"kind": "tail", "maxBytes": 16384}})
	through := dig(open, "transcript", "throughSequence")
	parts := map[float64]map[float64][]byte{}
	for page := dig(open, "transcript", "durable"); ; {
		list, _ := dig(page, "fragments").([]any)
		for _, f := range list {
			seq, _ := dig(f, "sequence").(float64)
			at, _ := dig(f, "byteOffset").(float64)
			data, err := base64.StdEncoding.DecodeString(text(f, "data"))
			if err != nil {
				w.Fatalf("fragment %v", f)
			}
			if parts[seq] == nil {
				parts[seq] = map[float64][]byte{}
			}
			parts[seq][at] = data
		}
		cursor := dig(page, "nextCursor")
		if cursor == nil {
			break
		}
		page = reader.ok("session.transcript.page", obj{"subscriptionId": open["subscriptionId"], "source": "durable", "direction": "older",
			"throughSequence": through, "cursor": cursor, "anchorSequence": nil, "maxBytes": 512 << 10})
	}
	var out []obj
	for _, seq := range slices.Sorted(maps.Keys(parts)) {
		var whole []byte
		for _, at := range slices.Sorted(maps.Keys(parts[seq])) {
			whole = append(whole, parts[seq][at]...)
		}
		var row obj
		if err := json.Unmarshal(whole, &row); err != nil {
			w.Fatalf("row %v: %v: %.200s", seq, err, whole)
		}
		if kind == "" || row["type"] == kind {
			out = append(out, row)
		}
	}
	return out
}
