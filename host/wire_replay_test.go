package host_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The vectors and the recorded sessions of official clients, against a live connection.

func TestWireVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/vectors/wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(data)) {
		var v struct {
			Name, Dir, Expect string
			Epoch             int
			Raw               *string
			Frame             json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Dir != "c2h" {
			continue
		}
		seen++
		t.Run(v.Name, func(t *testing.T) {
			message := string(v.Frame)
			if v.Raw != nil {
				message = *v.Raw
			}
			bubble(t, nil, func(w *wire) { w.vector(v.Epoch, message, v.Expect == "ok") })
		})
	}
	if seen < 20 {
		t.Errorf("%d vectors", seen)
	}
}

// vector sends a message where a frame of its kind may come, and wants it taken or the connection ended without an answer.
// A capability frame is sent about a call that is where the frame belongs, under the id that the vector uses.
func (w *wire) vector(epoch int, message string, ok bool) {
	w.Helper()
	var frame obj
	json.Unmarshal([]byte(message), &frame)
	kind, _ := frame["kind"].(string)
	switch {
	case kind == "hello" && ok:
		p := w.raw("client")
		p.send(message)
		settle()
		if got := kinds(p.take()); got != "accepted" && got != "incompatible" {
			w.Errorf("a hello was answered with %q (%d)", got, p.code())
		}
	case frame["operation"] != nil && ok:
		p := w.connect("both", "term", epoch)
		p.send(message)
		settle()
		if got := p.take(); len(got) != 1 || got[0]["requestId"] != frame["requestId"] {
			w.Errorf("answered %v (%d)", got, p.code())
		}
	case strings.HasPrefix(kind, "client.capability.") && ok:
		s := w.newStage(epoch)
		if kind != "client.capability.accepted" && kind != "client.capability.rejected" {
			s.admit()
		}
		if kind == "client.capability.result_chunk" {
			s.prov.cap("result_start", s.inv, obj{"byteLength": 40000, "chunkCount": 2})
		}
		settle()
		s.prov.send(about(message, s.inv))
		if kind == "client.capability.result_chunk" { // it decodes, and cannot fit a result whose length nobody announced
			settle()
			if contains(w.log.String(), "malformed frame") {
				w.Errorf("the frame did not decode: %s", lastLine(w.log))
			}
			return
		}
		s.prov.wantAlive()
		if kind == "client.capability.interaction_request" && len(s.pending()) != 1 {
			w.Errorf("the form is not pending: %s", lastLine(w.log))
		}
	case ok:
		w.Fatalf("a vector of an unknown sort: %s", message)
	default:
		// The id is that of a call in every phase, so that only the shape can be at fault.
		for _, phase := range []string{"dispatched", "admitted"} {
			s := w.newStage(epoch)
			if phase == "admitted" {
				s.admit()
			}
			s.prov.send(about(message, s.inv))
			s.prov.wantAborted()
			if len(s.pending()) != 0 {
				w.Error("a form is pending")
			}
			s.view.ws.NetConn().Close()
		}
	}
}

var invocationKey = regexp.MustCompile(`"invocationId":\s*"[A-Za-z0-9_-]{1,128}"`)

// about puts a live invocation's id into a message, where it has a legal one.
func about(message, inv string) string {
	done := false
	return invocationKey.ReplaceAllStringFunc(message, func(old string) string {
		if done {
			return old
		}
		done = true
		return fmt.Sprintf(`"invocationId":%q`, inv)
	})
}

// record is one line of a recording.
type record struct {
	Conn, Dir, Event string
	Code             int
	Frame            obj
}

func recording(t *testing.T, name string) (list []record) {
	t.Helper()
	data, err := os.ReadFile("../testdata/transcripts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// replay sends what a recorded client sent, with the ids that our Host minted in place of the recorded ones, and wants
// the answers that the client got: of the same operation, as successful, of the same shape.
type replay struct {
	*wire
	p    *peer
	ids  map[string]string // recorded → live, of what a Host mints
	text map[string]string // recorded text of a Turn → one that our Host runs
	// serve is called after each request, to let other peers of the scene act.
	serve  func()
	frames []obj
}

// notOurs is how our Host refuses what it does not have: a model's questions and what a foreign composition stores.
var notOurs = map[string]string{
	"credential.vault.query": "operation_unavailable", "runtime.policy.query": "operation_unavailable", "skill.catalog.invocable.query": "operation_unavailable",
	"interaction.answer": "not_found", "interaction.query": "not_found",
}

func (r *replay) run(list []record) {
	r.Helper()
	answers := map[string]obj{}
	for _, rec := range list {
		if rec.Dir == "h2c" && rec.Frame["requestId"] != nil {
			answers[text(rec.Frame, "requestId")] = rec.Frame
		}
	}
	n := 0
	for _, rec := range list {
		if rec.Dir != "c2h" || rec.Frame == nil {
			continue
		}
		n++
		r.p.send(r.translate(rec.Frame))
		settle()
		if r.p.code() != 0 {
			r.Fatalf("frame %d (%v) ended the connection: %s", n, rec.Frame["operation"], lastLine(r.log))
		}
		if rec.Frame["kind"] == "hello" {
			if got := r.p.take(); kinds(got) != "accepted" {
				r.Fatalf("hello was answered with %v", got)
			}
			continue
		}
		live := r.p.answer(text(rec.Frame, "requestId"))
		r.compare(text(rec.Frame, "operation"), answers[text(rec.Frame, "requestId")], live)
		if r.serve != nil {
			r.serve()
		}
		r.frames = append(r.frames, r.p.take()...)
	}
	r.p.wantAlive()
	r.p.ws.NetConn().Close() // as the official clients do
	settle()
}

// translate replaces recorded ids, targets and texts.
func (r *replay) translate(v any) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for k, e := range v {
			out[k] = r.translate(e)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, r.translate(e))
		}
		return out
	case string:
		if live, ok := r.ids[v]; ok {
			return live
		}
		if live, ok := r.text[v]; ok {
			return live
		}
		return v
	}
	return v
}

func (r *replay) compare(op string, recorded, live obj) {
	r.Helper()
	if live == nil {
		r.Fatalf("%s was not answered", op)
	}
	if code := notOurs[op]; code != "" {
		if text(live, "error", "code") != code {
			r.Errorf("%s answered %v, wanted %s", op, live, code)
		}
		return
	}
	if live["ok"] != recorded["ok"] || live["operation"] != op {
		r.Fatalf("%s answered %v, recorded %v", op, live, recorded)
	}
	r.learn(recorded["result"], live["result"])
	for _, d := range shapeOf(op, recorded["result"], live["result"]) {
		r.Errorf("%s: %s", op, d)
	}
}

// learn maps the ids that a Host mints, and the only project and model target.
func (r *replay) learn(recorded, live any) {
	pair := func(path ...any) {
		if a, b := text(recorded, path...), text(live, path...); a != "" && b != "" {
			r.ids[a] = b
		}
	}
	pair("subscriptionId")
	pair("hostEpoch")
	pair("turn", "runId")
	if dig(recorded, "view") == "summary" {
		pair("items", 0, "id")
	}
	if dig(recorded, "defaultTarget") != nil { // the target that was recorded is the default one, ours is the only one
		r.ids["wire-fake"] = text(live, "items", 0, "slug")
		r.ids[text(recorded, "defaultTarget", "modelId")] = text(live, "defaultTarget", "modelId")
	}
}

// optional are keys that a result has or has not, depending on what happened before.
var optional = map[string]bool{"lastMessageAt": true, "lastMessagePreview": true, "liveRunState": true, "statusUpdatedAt": true, "lastReadMessageId": true,
	"blockedReason": true, "thinkingLevel": true, "failureClass": true, "failureMessage": true, "terminalEventId": true}

// shapeOf reports where two results differ in keys or types. Lists are of one shape if their first elements are; what a
// list of a foreign catalog holds is not compared.
func shapeOf(path string, recorded, live any) (diffs []string) {
	switch a := recorded.(type) {
	case obj:
		b, ok := live.(obj)
		if !ok {
			return []string{fmt.Sprintf("%s is %T, recorded an object", path, live)}
		}
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			_, inA := a[k]
			_, inB := b[k]
			switch {
			case inA && inB:
				diffs = append(diffs, shapeOf(path+"."+k, a[k], b[k])...)
			case !optional[k]:
				diffs = append(diffs, fmt.Sprintf("%s.%s: recorded %v, live %v", path, k, inA, inB))
			}
		}
	case []any:
		b, ok := live.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %T, recorded a list", path, live)}
		}
		if len(a) > 0 && len(b) > 0 && !strings.HasPrefix(path, "connection.catalog.query") {
			diffs = shapeOf(path+"[0]", a[0], b[0])
		}
	case nil: // null, or something that came later
	default:
		if live != nil && fmt.Sprintf("%T", live) != fmt.Sprintf("%T", recorded) {
			diffs = append(diffs, fmt.Sprintf("%s is %T, recorded %T", path, live, recorded))
		}
	}
	return diffs
}

// officialProvider replays the frames of a recorded provider: its publication, and for each live call what it sent for
// the recorded call of the same tool.
type officialProvider struct {
	*wire
	p        *peer
	calls    map[string]obj   // tool → recorded call
	sends    map[string][]obj // tool → what it sent for it
	sees     map[string]string
	toolOf   map[string]string // live invocation → tool
	admitted map[string]bool
}

func (w *wire) officialProvider(list []record) *officialProvider {
	w.Helper()
	o := &officialProvider{wire: w, p: w.raw("provider"), calls: map[string]obj{}, sends: map[string][]obj{}, sees: map[string]string{}, toolOf: map[string]string{}, admitted: map[string]bool{}}
	tool := map[string]string{}
	for _, rec := range list {
		inv := text(rec.Frame, "invocationId")
		switch {
		case rec.Frame == nil:
		case inv == "" && rec.Dir == "c2h":
			o.p.send(rec.Frame)
			settle()
		case rec.Frame["kind"] == "client.capability.call":
			tool[inv] = text(rec.Frame, "toolName")
			o.calls[tool[inv]] = rec.Frame
		case rec.Dir == "c2h":
			o.sends[tool[inv]] = append(o.sends[tool[inv]], rec.Frame)
		}
	}
	if got := kinds(o.p.take()); got != "accepted replace" {
		w.Fatalf("the provider was answered with %q", got)
	}
	return o
}

// serve answers what came in since the last time.
func (o *officialProvider) serve() {
	o.Helper()
	for {
		settle()
		frames := o.p.take()
		if len(frames) == 0 {
			return
		}
		for _, f := range frames {
			inv := text(f, "invocationId")
			if f["kind"] == "client.capability.call" {
				tool := text(f, "toolName")
				o.toolOf[inv] = tool
				for _, d := range shapeOf("call", o.calls[tool], f) {
					o.Error(d)
				}
				if jsonOf(f["arguments"]) != jsonOf(o.calls[tool]["arguments"]) {
					o.Errorf("arguments of %s: %v", tool, f["arguments"])
				}
				o.next(inv) // accepted
				continue
			}
			tool := o.toolOf[inv]
			o.sees[tool] += strings.TrimPrefix(text(f, "kind"), "client.capability.") + " "
			if f["kind"] == "client.capability.admitted" {
				for len(o.sends[tool]) > 0 {
					o.next(inv)
				}
			}
		}
	}
}

func (o *officialProvider) next(inv string) {
	tool := o.toolOf[inv]
	f := maps.Clone(o.sends[tool][0])
	o.sends[tool] = o.sends[tool][1:]
	f["invocationId"] = inv
	o.p.send(f)
}

// The official provider and the official one-shot client, together, to their end.
func TestWireOfficialRun(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		prov := w.officialProvider(recording(t, "30-official-provider.jsonl"))
		list := recording(t, "31-official-run.jsonl")
		r := &replay{wire: w, p: w.raw("client"), ids: map[string]string{}, serve: prov.serve, text: map[string]string{
			`official [[call __add {"a":2,"b":3}]] [[call __boom {}]]`: "/call mini/add {\"a\":2,\"b\":3}\n/call mini/boom {}",
		}}
		r.run(list)
		if prov.sees["add"] != "admitted release " || prov.sees["boom"] != "admitted release " {
			t.Errorf("the provider saw %v", prov.sees)
		}
		prov.p.wantAlive()

		// What the surface saw of the Turn.
		want, got := story(framesOf(list)), story(r.frames)
		if want["event"] != got["event"] {
			t.Errorf("events\n got %s\nwant %s", got["event"], want["event"])
		}
		// A state that a later one overtook while it waited may be left out; the order and the end are the same.
		if !strings.HasSuffix(want["status"], got["status"]) || !strings.HasSuffix(got["status"], "running completed") {
			t.Errorf("statuses %q, recorded %q", got["status"], want["status"])
		}
		gapless(t, r.frames)

		// The rows of the Turn, its model's aside.
		var rows []string
		for _, row := range w.rows("f1fb38cd-43c6-4d17-b7ff-6ef2cb2d76d3", "") {
			kind, _ := row["type"].(string)
			if kind == "tool_result" {
				kind += fmt.Sprint(" ", row["isError"], " ", text(row, "content", "text"), text(row, "content", "value", "content", 0, "text"))
			}
			if kind == "turn_state" {
				kind += " " + text(row, "status")
			}
			rows = append(rows, kind)
		}
		if got := strings.Join(rows, ", "); got != "user, turn_state running, tool_call, tool_call, tool_result false 5, tool_result true MCP mini/boom: it exploded, turn_state completed" &&
			got != "user, turn_state running, tool_call, tool_call, tool_result true MCP mini/boom: it exploded, tool_result false 5, turn_state completed" {
			t.Errorf("rows: %s", got)
		}
	})
}

// The official terminal client: a question that our Host does not ask, a second message, subscriptions opened and closed.
func TestWireOfficialTUI(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		prov := w.officialProvider(recording(t, "30-official-provider.jsonl"))
		list := recording(t, "32-official-tui.jsonl")
		r := &replay{wire: w, p: w.raw("client"), ids: map[string]string{}, serve: prov.serve, text: map[string]string{
			`tui ask [[call AskUserQuestion {"questions":[{"question":"Pick?","options":[{"label":"One"},{"label":"Two"}]}]}]]`: `/call mini/add {"a":2,"b":3}`,
			"second plain message": "/call mini/boom {}",
		}}
		r.run(list)
		if prov.sees["add"] != "admitted release " || prov.sees["boom"] != "admitted release " {
			t.Errorf("the provider saw %v", prov.sees)
		}
		if got := story(r.frames)["status"]; !contains(got, "running completed") {
			t.Errorf("statuses %s", got)
		}
		gapless(t, r.frames)
	})
}

func framesOf(list []record) (out []obj) {
	for _, r := range list {
		if r.Dir == "h2c" && r.Frame != nil {
			out = append(out, r.Frame)
		}
	}
	return out
}

// story sums up what a surface saw: the Turn's states and the tools' events, those of the model's own functions aside.
func story(frames []obj) map[string]string {
	var statuses, events []string
	name := map[string]string{}
	for _, f := range frames {
		if s := text(f, "snapshot", "rootTurn", "status"); s != "" && f["kind"] == "subscription.session_projection" && (len(statuses) == 0 || statuses[len(statuses)-1] != s) {
			statuses = append(statuses, s)
		}
		e, _ := f["event"].(obj)
		if e == nil {
			continue
		}
		id := text(e, "toolUseId")
		if e["type"] == "tool_start" {
			name[id] = text(e, "toolName")
		}
		if !strings.HasPrefix(name[id], "mcp__") {
			continue
		}
		keys := slices.Sorted(maps.Keys(e))
		events = append(events, fmt.Sprint(e["type"], " ", name[id], " ", e["status"], " ", e["displayName"], " ", e["activityKind"], " ", without(keys, "stepId", "durationMs")))
	}
	slices.Sort(events)
	return map[string]string{"status": strings.Join(statuses, " "), "event": strings.Join(events, "\n")}
}

func without(keys []string, drop ...string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(drop, k) })
}

// gapless wants every subscription's frames to be numbered without a gap.
func gapless(t *testing.T, frames []obj) {
	t.Helper()
	next := map[any]float64{}
	for _, f := range frames {
		id := f["subscriptionId"]
		if id == nil {
			continue
		}
		if next[id] == 0 {
			next[id] = 1
		}
		if f["sequence"] != next[id] {
			t.Errorf("frame %v of %v, wanted %v", f["sequence"], id, next[id])
		}
		next[id]++
	}
}
