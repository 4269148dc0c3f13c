package host_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The scripted recordings of another Host, several connections each, replayed against ours: the clients say what they
// said, in the order in which they said it, and each connection must get the same answers and capability frames and come
// to the same end. Ids, texts of Turns (a model's there, /call lines here) and projections aside; the differences that the
// protocol's page announces are listed with each scene.
func TestWireScenes(t *testing.T) {
	t.Parallel()
	// A binding ends with its provider's connection here; there it blocks the session until the provider is back.
	const unblocked = "turn.start: recorded operation_conflict, live ok"
	// Where the recorded client broke its connection itself, the replay does so after a look at it.
	const left = "end: recorded 1006, live 0"
	for _, scene := range []struct {
		file  string
		token func(conn string) string
		diffs []string
	}{
		{file: "01-ask-mode-boundary-refusal"},
		{file: "02-happy-call-bypass"},
		{file: "03-trusted-capability-provider", token: func(conn string) string {
			return map[string]string{"P": "provider", "A": "client"}[conn]
		}},
		{file: "05-cancel-accepted"},
		{file: "05-cancel-chunks"},
		{file: "05-cancel-dispatched"},
		{file: "06-provider-disconnect-accepted", diffs: []string{"A " + unblocked, "P " + left}},
		{file: "06-provider-disconnect-dispatched", diffs: []string{"A " + unblocked, "P " + left}},
		{file: "07-rejected-and-failed"},
		{file: "08-provider-protocol-violations"},
		{file: "17-registration-lifecycle", diffs: []string{"A " + unblocked, "A " + unblocked, "A turn.message.submit: recorded operation_conflict, live ok"}},
		// No credential of ours grants the Host's paths.
		{file: "18-concurrency-affinity", diffs: []string{"cwd client.capability.replace: recorded ok, live unauthorized",
			`cwd frames: recorded "accepted call release", live "accepted"`, "cwd rejected: there is no such call"}},
		// The recording leaves the long frame out.
		{file: "27-toolcallid-and-content-strictness", diffs: []string{"displayText " + left, "text-48KiB+1 " + left}},
	} {
		t.Run(scene.file, func(t *testing.T) {
			bubble(t, nil, func(w *wire) {
				s := &theatre{wire: w, token: scene.token, conns: map[string]*actor{}, ids: map[string]string{}}
				s.play(recording(t, scene.file+".jsonl"))
				slices.Sort(s.diffs)
				slices.Sort(scene.diffs)
				if !slices.Equal(s.diffs, scene.diffs) {
					t.Errorf("differences\n got %s\nwant %s", strings.Join(s.diffs, "\n     "), strings.Join(scene.diffs, "\n     "))
				}
			})
		})
	}
}

// theatre replays one scene.
type theatre struct {
	*wire
	token func(conn string) string
	conns map[string]*actor
	ids   map[string]string // recorded → live, of what a Host mints
	diffs []string
}

// actor is one connection of a scene.
type actor struct {
	p                        *peer
	recorded, live           []string        // answers and capability frames
	recordedCalls, liveCalls []string        // invocation ids in order
	answered                 map[string]bool // requests whose recorded answer there is
	answers                  map[string]obj  // live ones
	ended                    bool
}

func (s *theatre) differ(format string, args ...any) {
	s.diffs = append(s.diffs, fmt.Sprintf(format, args...))
}

func (s *theatre) play(list []record) {
	s.Helper()
	for i, rec := range list {
		a := s.conns[rec.Conn]
		switch {
		case rec.Conn == "":
		case rec.Event == "http_upgrade":
			token := "both"
			if s.token != nil {
				token = s.token(rec.Conn)
			}
			s.conns[rec.Conn] = &actor{p: s.raw(token), answered: map[string]bool{}, answers: map[string]obj{}}
			for _, later := range list[i:] {
				if later.Conn == rec.Conn && later.Dir == "h2c" {
					s.conns[rec.Conn].answered[text(later.Frame, "requestId")] = true
				}
			}
			s.conns[rec.Conn].p.name = rec.Conn
		case rec.Event == "close" && !a.ended:
			s.close(rec, a)
		case rec.Dir == "h2c" && rec.Frame != nil:
			if word := wordFor(rec.Frame); word != "" {
				a.recorded = append(a.recorded, word)
			}
			if rec.Frame["kind"] == "client.capability.call" {
				a.recordedCalls = append(a.recordedCalls, text(rec.Frame, "invocationId"))
			}
			s.learn(a, rec.Frame)
		case rec.Dir == "c2h" && rec.Frame != nil:
			s.say(a, rec.Frame)
		}
	}
	for name, a := range s.conns {
		s.collect(a)
		s.compare(name, a)
	}
}

// close ends a connection where the recorded one ended: the Host has ended it already, or the client does.
func (s *theatre) close(rec record, a *actor) {
	settle()
	a.ended = true
	s.collect(a)
	if live := a.p.code(); live != 0 && live != rec.Code || live == 0 && rec.Code == 1006 {
		s.differ("%s end: recorded %d, live %d", rec.Conn, rec.Code, live)
	}
	a.p.ws.NetConn().Close()
	settle()
}

// say sends a frame, if what it is about exists here.
func (s *theatre) say(a *actor, frame obj) {
	s.Helper()
	settle()
	s.collect(a)
	for i, id := range a.recordedCalls {
		if i < len(a.liveCalls) {
			s.ids[id] = a.liveCalls[i]
		}
	}
	if id := text(frame, "invocationId"); slices.Contains(a.recordedCalls, id) && s.ids[id] == "" {
		s.differ("%s %s: there is no such call", a.p.name, wordFor(frame))
		return
	}
	r := &replay{wire: s.wire, ids: s.ids, text: map[string]string{}}
	out := r.translate(frame).(obj)
	if in, ok := out["input"].(obj); ok {
		if content, ok := in["content"].(obj); ok {
			in["content"] = with(content, "text", asCalls(text(content, "text")))
		}
		if workspace, ok := in["workspace"].(obj); ok {
			in["workspace"] = with(workspace, "projectId", "default")
		}
	}
	a.p.send(out)
	settle()
}

var modelCall = regexp.MustCompile(`\[\[call __(\w+) (\{.*?\})\]\]`)

// asCalls says a model's recorded text in our Host's words.
func asCalls(recorded string) string {
	var lines []string
	for _, m := range modelCall.FindAllStringSubmatch(recorded, -1) {
		lines = append(lines, "/call wire/"+m[1]+" "+m[2])
	}
	if contains(recorded, "[[calls __echo 10]]") { // eight is what a provider takes at once
		lines = slices.Repeat([]string{"/call wire/echo {}"}, 8)
	}
	if lines == nil && recorded != "" {
		return "/call nobody/nothing {}"
	}
	return strings.Join(lines, "\n")
}

// collect takes what a connection got.
func (s *theatre) collect(a *actor) {
	for _, f := range a.p.take() {
		if f["kind"] == "client.capability.call" {
			a.liveCalls = append(a.liveCalls, text(f, "invocationId"))
		}
		if id := text(f, "requestId"); id != "" {
			a.answers[id] = f
			if !a.answered[id] { // the recording left the long ones out
				continue
			}
		}
		if word := wordFor(f); word != "" {
			a.live = append(a.live, word)
		}
	}
}

// learn pairs the ids that our Host minted with those that the recorded one did.
func (s *theatre) learn(a *actor, recorded obj) {
	settle()
	s.collect(a)
	if recorded["kind"] == "accepted" {
		s.ids[text(recorded, "hostEpoch")] = s.h.Epoch()
	}
	for _, key := range [][]any{{"result", "subscriptionId"}, {"result", "turn", "runId"}} {
		if id, live := text(recorded, key...), text(a.answers[text(recorded, "requestId")], key...); id != "" && live != "" {
			s.ids[id] = live
		}
	}
}

// wordFor says a frame in a word: an answer with its code, a capability frame with its kind; "" is one that is not compared.
func wordFor(f obj) string {
	if op, ok := f["operation"].(string); ok {
		result := "ok"
		if f["ok"] != true {
			result = text(f, "error", "code")
		}
		return op + ": " + result
	}
	kind, _ := f["kind"].(string)
	if strings.HasPrefix(kind, "client.capability.") || kind == "accepted" || kind == "incompatible" {
		return strings.TrimPrefix(kind, "client.capability.")
	}
	return ""
}

// compare wants a connection to have got the same. An answer and a capability frame may cross, so each sort has its order.
func (s *theatre) compare(name string, a *actor) {
	answers := func(words []string) (out []string) {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !contains(w, ": ") })
	}
	frames := func(words []string) []string {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return contains(w, ": ") })
	}
	want, got := answers(a.recorded), answers(a.live)
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			s.differ("%s also %s", name, got[i])
		case i >= len(got):
			s.differ("%s lacks %s", name, want[i])
		case want[i] != got[i]:
			op, code, _ := strings.Cut(want[i], ": ")
			s.differ("%s %s: recorded %s, live %s", name, op, code, strings.TrimPrefix(got[i], op+": "))
		}
	}
	if want, got := strings.Join(frames(a.recorded), " "), strings.Join(frames(a.live), " "); want != got {
		s.differ("%s frames: recorded %q, live %q", name, want, got)
	}
}
