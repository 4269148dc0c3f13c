package host_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The phase table of one invocation (wire protocol, 7.2, and the forms dialect), over a live connection. The columns are
// the frames; a cell says what becomes of the connection and of the call.
const wirePhases = `
             accepted  rejected  progress  result        result_start  result_chunk  failed   interaction_request
dispatched   admitted  ends      abort     abort         abort         abort         abort    abort
admitted     abort     abort     ok        ends          ok            abort         ends     ok
awaiting     abort     abort     ok        inconsistent  inconsistent  abort         ends     abort
delivering   abort     abort     ok        ends          ok            abort         ends     ok
chunks       abort     abort     ok        abort         abort         ok            ends     abort
retired      ignored   ignored   ignored   ignored       ignored       ignored       ignored  ignored
unknown      abort     abort     abort     abort         abort         abort         abort    abort
foreign      abort     abort     abort     abort         abort         abort         abort    abort
`

func phaseFrame(name string) obj {
	switch name {
	case "rejected", "failed":
		return obj{"message": "It broke"}
	case "progress":
		return obj{"current": 1, "total": 2}
	case "result":
		return textResult("done")
	case "result_start":
		return obj{"byteLength": 40000, "chunkCount": 2}
	case "result_chunk":
		return obj{"index": 0, "data": base64.StdEncoding.EncodeToString(make([]byte, 36864))}
	case "interaction_request":
		return obj{"interactionId": "fresh", "request": form()}
	}
	return nil
}

func TestWirePhases(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(wirePhases), "\n")
	columns := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		for i, want := range cells[1:] {
			for _, epoch := range []int{39, 81} {
				phase, frame := cells[0], columns[i]
				if epoch == 39 && (frame == "interaction_request" || phase == "awaiting" || phase == "delivering") {
					continue
				}
				t.Run(fmt.Sprint(phase, "/", frame, "/", epoch), func(t *testing.T) {
					bubble(t, nil, func(w *wire) {
						s := w.newStage(epoch)
						who, inv := s.to(phase)
						s.prov.take()
						who.cap(frame, inv, phaseFrame(frame))
						settle()
						s.checkCell(who, want)
					})
				})
			}
		}
	}
}

// to takes the stage's call to a phase and returns who sends about what.
func (s *stage) to(phase string) (who *peer, inv string) {
	s.Helper()
	switch phase {
	case "admitted", "chunks", "retired", "awaiting", "delivering", "foreign":
		s.admit()
	}
	switch phase {
	case "chunks":
		s.prov.cap("result_start", s.inv, obj{"byteLength": 40000, "chunkCount": 2})
	case "retired":
		s.prov.cap("result", s.inv, textResult("done"))
	case "awaiting":
		s.askForm("n1")
	case "delivering":
		id := s.askForm("n1")
		s.view.ok("interaction.answer", s.answerInput(id, accept("red")))
	case "unknown":
		return s.prov, "never"
	case "foreign":
		other := s.connect("both", "other", s.prov.epoch)
		other.publish(offer("other-offer", "other", "tool"))
		return other, s.inv
	}
	settle()
	return s.prov, s.inv
}

func (s *stage) checkCell(who *peer, want string) {
	s.Helper()
	if want == "abort" {
		who.wantAborted()
		if who != s.prov {
			s.prov.wantAlive()
			s.wantTurn("running")
		}
		return
	}
	frames := kinds(who.take())
	who.wantAlive()
	switch want {
	case "admitted":
		if frames != "admitted" {
			s.Errorf("the provider saw %q", frames)
		}
	case "ok", "ignored":
		if frames != "" {
			s.Errorf("the provider saw %q", frames)
		}
	case "ends":
		if frames != "release" {
			s.Errorf("the provider saw %q", frames)
		}
		s.wantTurn("completed")
	case "inconsistent":
		if frames != "cancel release" {
			s.Errorf("the provider saw %q", frames)
		}
		s.wantTurn("completed")
	}
}

// The order of a call that goes well, with progress that a surface sees once for each advance.
func TestWireHappyCall(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(39)
		s.admit()
		for _, step := range [][2]int{{0, 2}, {1, 2}, {1, 2}, {2, 2}} {
			s.prov.cap("progress", s.inv, obj{"current": step[0], "total": step[1]})
			settle()
		}
		s.prov.cap("result", s.inv, obj{"result": obj{"content": []any{obj{"type": "text", "text": "echoed: hi"}}, "structuredContent": obj{"ok": true}}})
		settle()
		if got := kinds(s.prov.take()); got != "release" {
			t.Errorf("the provider saw %q", got)
		}
		var shown []string
		for _, f := range pick(s.view.take(), "subscription.session_event") {
			if dig(f, "event", "type") == "tool_progress" {
				shown = append(shown, text(f, "event", "chunk"))
			}
		}
		if strings.Join(shown, " ") != "steps:0/2 steps:1/2 steps:2/2" {
			t.Errorf("shown %v", shown)
		}
		s.wantTurn("completed")
		s.wantCall(false, "echoed: hi", false)
		row := w.rows(s.session, "tool_result")[0]
		if dig(row, "content", "kind") != "json" || dig(row, "content", "value", "structuredContent", "ok") != true {
			t.Errorf("row %v", row)
		}
		call := w.rows(s.session, "tool_call")[0]
		if call["id"] != s.toolCall || call["toolName"] != "mcp__wire__echo" || dig(call, "args") == nil {
			t.Errorf("row %v", call)
		}
	})
}

func TestWireProgressRules(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][][2]int{
		"backwards": {{2, 3}, {1, 3}}, "total changes": {{1, 3}, {1, 4}}, "above total": {{4, 3}}, "total 1025": {{1, 1025}}, "total 0": {{0, 0}}, "negative": {{-1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(39)
				s.admit()
				for i, step := range steps {
					if i > 0 {
						s.prov.wantAlive()
					}
					s.prov.cap("progress", s.inv, obj{"current": step[0], "total": step[1]})
				}
				s.prov.wantAborted()
				s.wantCall(true, lostAfter, true)
			})
		})
	}
}

// padded is a text result whose JSON has n bytes.
func padded(n int) json.RawMessage {
	const head, tail = `{"content":[{"type":"text","text":"`, `"}]}`
	return json.RawMessage(head + strings.Repeat("x", n-len(head)-len(tail)) + tail)
}

func TestWireInlineLimit(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{40960: true, 40961: false} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(39)
				s.admit()
				s.prov.send(fmt.Sprintf(`{"kind":"client.capability.result","invocationId":%q,"result":%s}`, s.inv, padded(n)))
				settle()
				if !ok {
					s.prov.wantAborted()
					return
				}
				if got := kinds(s.prov.take()); got != "release" {
					t.Errorf("saw %q", got)
				}
			})
		})
	}
}

func TestWireChunks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{40, 36864, 36865, 102439} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(39)
				s.admit()
				data := padded(n)
				s.prov.cap("result_start", s.inv, obj{"byteLength": n, "chunkCount": (n + 36863) / 36864})
				for i := 0; len(data) > 0; i++ {
					size := min(len(data), 36864)
					s.prov.cap("result_chunk", s.inv, obj{"index": i, "data": base64.StdEncoding.EncodeToString(data[:size])})
					data = data[size:]
					if i == 0 && len(data) > 0 {
						s.prov.cap("progress", s.inv, obj{"current": 1, "total": 3})
					}
					if i%16 == 0 {
						settle()
					}
				}
				settle()
				if got := kinds(s.prov.take()); got != "release" {
					t.Errorf("saw %q (%d)", got, s.prov.code())
				}
				s.wantCall(false, strings.Repeat("x", n-39), false)
			})
		})
	}
	b64 := func(n int) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), n)) }
	start := func(n int) []obj {
		return []obj{{"kind": "result_start", "byteLength": n, "chunkCount": (n + 36863) / 36864}}
	}
	add := func(frames []obj, f obj) []obj { f["kind"] = "result_chunk"; return append(frames, f) }
	for name, frames := range map[string][]obj{
		"out of order":        add(start(40000), obj{"index": 1, "data": b64(40000 - 36864)}),
		"short":               add(start(40000), obj{"index": 0, "data": b64(36863)}),
		"long":                add(start(40000), obj{"index": 0, "data": b64(36865)}),
		"count wrong":         {{"kind": "result_start", "byteLength": 40000, "chunkCount": 3}},
		"over 24 MiB":         {{"kind": "result_start", "byteLength": 24<<20 + 1, "chunkCount": 683}},
		"length 0":            {{"kind": "result_start", "byteLength": 0, "chunkCount": 0}},
		"not JSON":            add(start(3), obj{"index": 0, "data": b64(3)}),
		"not a result":        add(start(2), obj{"index": 0, "data": base64.StdEncoding.EncodeToString([]byte("{}"))}),
		"not canonical":       add(start(1), obj{"index": 0, "data": "eB=="}),
		"no padding":          add(start(1), obj{"index": 0, "data": "eA"}),
		"url alphabet":        add(start(3), obj{"index": 0, "data": "-_-_"}),
		"line break":          add(start(3), obj{"index": 0, "data": "eHh4\n"}),
		"inline after start":  append(start(40000), obj{"kind": "result", "result": obj{"content": []any{}}}),
		"second start":        append(start(40000), start(40000)...),
		"index not a number":  add(start(3), obj{"index": "0", "data": b64(3)}),
		"chunk with more key": add(start(3), obj{"index": 0, "data": b64(3), "last": true}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(39)
				s.admit()
				for i, f := range frames {
					if i == len(frames)-1 {
						s.prov.wantAlive()
					}
					kind := text(f, "kind")
					delete(f, "kind")
					s.prov.cap(kind, s.inv, f)
					f["kind"] = kind
				}
				s.prov.wantAborted()
				s.wantCall(true, lostAfter, true)
				s.view.wantAlive()
			})
		})
	}
}

func TestWireResultShape(t *testing.T) {
	t.Parallel()
	block := func(b string) string { return `{"content":[` + b + `]}` }
	for name, tc := range map[string]struct {
		result string
		ok     bool
	}{
		"empty":               {`{"content":[]}`, true},
		"text":                {block(`{"type":"text","text":""}`), true},
		"image":               {block(`{"type":"image","data":"AA==","mimeType":"image/png"}`), true},
		"image of other type": {block(`{"type":"image","data":"AA==","mimeType":"text/png"}`), false},
		"audio":               {block(`{"type":"audio","data":"AA==","mimeType":"audio/wav"}`), true},
		"resource":            {block(`{"type":"resource","uri":"x:y","mimeType":"a/b","text":"t"}`), true},
		"resource nested":     {block(`{"type":"resource","resource":{"uri":"x:y"}}`), false},
		"resource_link":       {block(`{"type":"resource_link","uri":"x:y","name":"n"}`), true},
		"unknown":             {block(`{"type":"unknown","value":{"a":[1]}}`), true},
		"other type":          {block(`{"type":"video","data":""}`), false},
		"other key":           {block(`{"type":"text","text":"","annotations":{}}`), false},
		"isError":             {`{"content":[],"isError":false}`, false},
		"no content":          {`{"structuredContent":{}}`, false},
		"_meta":               {`{"content":[],"_meta":{}}`, false},
		"256 blocks":          {block(strings.Repeat(`{"type":"text","text":"x"},`, 255) + `{"type":"text","text":"x"}`), true},
		"257 blocks":          {block(strings.Repeat(`{"type":"text","text":"x"},`, 256) + `{"type":"text","text":"x"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.admit()
				s.prov.send(fmt.Sprintf(`{"kind":"client.capability.result","invocationId":%q,"result":%s}`, s.inv, tc.result))
				settle()
				if !tc.ok {
					s.prov.wantAborted()
					return
				}
				if got := kinds(s.prov.take()); got != "release" {
					t.Errorf("saw %q", got)
				}
				s.wantTurn("completed")
			})
		})
	}
}

func TestWireMessageLimits(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"rejected", "failed"} {
		for n, ok := range map[int]bool{0: false, 1: true, 4096: true, 4097: false} {
			t.Run(fmt.Sprint(kind, "/", n), func(t *testing.T) {
				bubble(t, nil, func(w *wire) {
					s := w.newStage(81)
					if kind == "failed" {
						s.admit()
					}
					message := strings.Repeat("é", n)
					s.prov.cap(kind, s.inv, obj{"message": message})
					if !ok {
						s.prov.wantAborted()
						return
					}
					settle()
					if got := kinds(s.prov.take()); got != "release" {
						t.Errorf("saw %q", got)
					}
					s.wantCall(true, message, false)
				})
			})
		}
	}
}

// Acceptance and progress do not extend the deadline.
func TestWireDeadlineIsFixed(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(39)
		start := time.Now()
		time.Sleep(20 * time.Second)
		s.admit()
		for i := range 6 {
			time.Sleep(20 * time.Second)
			s.prov.cap("progress", s.inv, obj{"current": i, "total": 10})
		}
		time.Sleep(9 * time.Second)
		settle()
		if got := kinds(s.prov.take()); got != "" {
			t.Errorf("after %v the provider saw %q", time.Since(start), got)
		}
		time.Sleep(2 * time.Second)
		settle()
		if got := kinds(s.prov.take()); got != "cancel release" {
			t.Errorf("after %v the provider saw %q", time.Since(start), got)
		}
		s.wantCall(true, lateAfter, true)
	})
}

// A straggler about a call that ended is ignored, whatever ended since.
func TestWireRetired(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *wire) {
		s := w.newStage(39)
		first := s.inv
		s.prov.cap("rejected", first, obj{"message": "no"})
		for range 4 {
			settle()
			s.prov.take()
			s.prov.cap("result", first, textResult("late"))
			s.prov.wantAlive()
			s.view.start(s.session, strings.TrimSpace(strings.Repeat("/call wire/echo {}\n", 8)))
			settle()
			for _, c := range pick(s.prov.take(), "client.capability.call") {
				s.prov.cap("rejected", text(c, "invocationId"), obj{"message": "no"})
			}
		}
		s.prov.wantAlive()
		if n := len(w.rows(s.session, "tool_result")); n != 33 {
			t.Errorf("%d results", n)
		}
	})
}

// A frame that only a Host sends ends the connection.
func TestWireHostFramesFromClient(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"call", "admitted", "cancel", "release", "registration_release", "interaction_result", "service_call", "nonsense"} {
		t.Run(kind, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := w.newStage(81)
				s.prov.cap(kind, s.inv, nil)
				s.prov.wantAborted()
				s.wantCall(true, lostBefore, false)
			})
		})
	}
}

// What a provider sent before it left counts.
func TestWireResultThenClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		bubble(t, nil, func(w *wire) {
			s := w.newStage(81)
			s.admit()
			s.prov.cap("result", s.inv, textResult("the last word"))
			s.prov.ws.NetConn().Close()
			settle()
			s.wantTurn("completed")
			s.wantCall(false, "the last word", false)
		})
		if t.Failed() {
			return
		}
	}
}
