// Package replay plays recorded clients of a real Runtime Host against a live
// one, and compares what each of the two answered.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/protocol"
)

// line is one line of a transcript.
type line struct {
	Conn  string          `json:"conn"`
	Dir   string          `json:"dir"`
	Event string          `json:"event"`
	Code  int             `json:"code"`
	Raw   *string         `json:"raw"`
	Frame json.RawMessage `json:"frame"`

	n int
}

type object = map[string]any

// Project is the project of the recordings.
const Project = "c74b84cd-1cd9-486e-96f7-eefd7d77a6d4"

// Case is one recording and what of it is played.
type Case struct {
	// File is the transcript's path.
	File string
	// Leaves are the connections whose client destroyed its socket at the end.
	Leaves []string
	// Except are connections that are left out.
	Except []string
	// Skip are lines that are left out, from and to, in pairs.
	Skip []int
	// Until is the last line that is played, 0 for all.
	Until int
	// Ignore are keys that are not compared, beyond the target's.
	Ignore []string
	// Chunks is the line after which the chunks go that were too large to record.
	Chunks int
}

// Target is the live Host.
type Target struct {
	// Dial opens the WebSocket of a recorded connection.
	Dial func(conn string) (*websocket.Conn, error)
	// Gone waits until the Host has noticed that only n connections are left.
	Gone func(n int) error
	// Known stands for recorded values that the Host has others for.
	Known map[string]string
	// Ignore are keys that are not compared.
	Ignore []string
	// SkipTools are tools whose events this Host does not have.
	SkipTools []string
}

// Play plays a recording. Every response and capability frame is compared, the
// tool events, the states of Turns and Interactions, and how each connection
// ended; keys that cannot be equal from run to run are not.
func Play(t *testing.T, c Case, target Target) {
	t.Helper()
	target.Ignore = append(slices.Clone(target.Ignore), c.Ignore...)
	p := &player{t: t, target: target, leaves: c.Leaves, conns: map[string]*client{}, ids: map[string]string{}}
	for recorded, live := range target.Known {
		p.ids[recorded] = live
	}
	defer func() {
		for _, c := range p.conns {
			c.leave()
		}
	}()
	name := filepath.Base(c.File)
	for _, ln := range readLines(t, c.File) {
		if c.Until > 0 && ln.n > c.Until {
			break
		}
		if slices.Contains(c.Except, ln.Conn) || skipped(c.Skip, ln.n) {
			continue
		}
		if err := p.play(ln); err != nil {
			t.Fatalf("%s:%d %s: %v", name, ln.n, ln.Conn, err)
		}
		if ln.n == c.Chunks {
			p.sendChunks(p.conns[ln.Conn])
		}
	}
	if p.compared < 5 {
		t.Errorf("only %d frames were compared", p.compared)
	}
}

func skipped(ranges []int, n int) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= n && n <= ranges[i+1] {
			return true
		}
	}
	return false
}

func readLines(t *testing.T, file string) (lines []line) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 4<<20)
	for n := 1; s.Scan(); n++ {
		ln := line{n: n}
		if err := json.Unmarshal(s.Bytes(), &ln); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, ln)
	}
	return lines
}

// player holds a recording against a live Host.
type player struct {
	t        *testing.T
	target   Target
	leaves   []string
	conns    map[string]*client
	ids      map[string]string // recorded id → live id
	skipUses map[string]bool   // recorded calls of Target.SkipTools
	compared int
	start    protocol.CapabilityResultStart // the last that was sent
}

// client is a live connection and what came on it, sorted by what it is.
type client struct {
	ws *websocket.Conn

	mu     sync.Mutex
	news   chan struct{} // closed and replaced when something came
	items  map[string][]object
	closed bool
	code   int
}

func (p *player) dial(name string) (*client, error) {
	ws, err := p.target.Dial(name)
	if err != nil {
		return nil, err
	}
	c := &client{ws: ws, items: map[string][]object{}, news: make(chan struct{})}
	go c.read()
	return c, nil
}

func (c *client) read() {
	for {
		_, data, err := c.ws.ReadMessage()
		c.mu.Lock()
		if err != nil {
			c.closed, c.code = true, websocket.CloseAbnormalClosure
			if e, ok := errors.AsType[*websocket.CloseError](err); ok {
				c.code = e.Code
			}
			if errors.Is(err, net.ErrClosed) {
				c.code = 0
			}
		} else {
			var f object
			if json.Unmarshal(data, &f) == nil {
				key := sortKey(f)
				c.items[key] = append(c.items[key], f)
			}
		}
		close(c.news)
		c.news = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// sortKey says in which queue a frame is compared.
func sortKey(f object) string {
	if id, ok := f["requestId"].(string); ok {
		return "response " + id
	}
	kind, _ := f["kind"].(string)
	switch {
	case strings.HasPrefix(kind, "client.capability.registration"):
		return kind // its place among the others is not compared
	case kind == "client.capability.call":
		return kind // in the order in which they come
	case strings.HasPrefix(kind, "client.capability."):
		return "capability " + fmt.Sprint(f["invocationId"])
	case kind == "subscription.session_event":
		return fmt.Sprint("event ", f["subscriptionId"])
	}
	return kind
}

// take waits for the next frame of a queue that want accepts, and drops those
// before it.
func (c *client) take(match func(key string) bool, want func(object) bool) (object, error) {
	deadline := time.After(15 * time.Second)
	for {
		c.mu.Lock()
		news := c.news
		for key, list := range c.items {
			if !match(key) {
				continue
			}
			for i, f := range list {
				if want == nil || want(f) {
					c.items[key] = list[i+1:]
					if key == "client.capability.call" || strings.HasPrefix(key, "event ") {
						c.items[key] = append(slices.Clone(list[:i]), list[i+1:]...)
					}
					c.mu.Unlock()
					return f, nil
				}
			}
		}
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return nil, errors.New("the connection ended before the expected frame")
		}
		select {
		case <-news:
		case <-deadline:
			return nil, errors.New("the expected frame did not come")
		}
	}
}

func (c *client) leave() {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	_ = c.ws.Close()
	for {
		c.mu.Lock()
		closed, news := c.closed, c.news
		c.mu.Unlock()
		if closed {
			return
		}
		<-news
	}
}

func (p *player) play(ln line) error {
	switch {
	case ln.Event == "upgrade_ok":
		c, err := p.dial(ln.Conn)
		if err != nil {
			return err
		}
		p.conns[ln.Conn] = c
		return nil
	case ln.Event == "close":
		return p.ended(ln)
	case ln.Raw != nil && p.conns[ln.Conn] != nil && json.Valid([]byte(strings.Trim(*ln.Raw, "{"))) || (ln.Raw != nil && *ln.Raw == "{"):
		_ = p.conns[ln.Conn].ws.WriteMessage(websocket.TextMessage, []byte(*ln.Raw))
		return nil
	case ln.Frame == nil || ln.Event != "":
		return nil
	}
	c := p.conns[ln.Conn]
	if c == nil {
		return nil
	}
	if ln.Dir == "c2h" {
		var v any
		if err := json.Unmarshal(ln.Frame, &v); err != nil {
			return err
		}
		data, _ := json.Marshal(p.substitute(v))
		if start, err := protocol.DecodeClientFrame(data, protocol.Dialect39); err == nil {
			if start, ok := start.(*protocol.CapabilityResultStart); ok {
				p.start = *start
			}
		}
		_ = c.ws.WriteMessage(websocket.TextMessage, data) // the Host may have dropped us already
		return nil
	}
	var f object
	if err := json.Unmarshal(ln.Frame, &f); err != nil {
		return err
	}
	return p.expect(c, f)
}

// sendChunks sends what the last result_start announced.
func (p *player) sendChunks(c *client) {
	const frame = `{"content":[{"type":"text","text":""}]}`
	text := strings.Repeat("x", p.start.ByteLength-len(frame))
	result := []byte(strings.Replace(frame, `""`, `"`+text+`"`, 1))
	for i := range p.start.ChunkCount {
		data := result[i*protocol.ChunkBytes : min(len(result), (i+1)*protocol.ChunkBytes)]
		f, err := protocol.Encode(&protocol.CapabilityResultChunk{InvocationID: p.start.InvocationID, Index: i, Data: data}, protocol.Dialect39)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = c.ws.WriteMessage(websocket.TextMessage, f)
	}
}

// substitute puts live ids for recorded ones.
func (p *player) substitute(v any) any {
	switch v := v.(type) {
	case string:
		if live, ok := p.ids[v]; ok {
			return live
		}
	case object:
		out := make(object, len(v))
		for k, m := range v {
			out[k] = p.substitute(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = p.substitute(m)
		}
		return out
	}
	return v
}

// ended compares how a connection ended.
func (p *player) ended(ln line) error {
	c := p.conns[ln.Conn]
	if c == nil {
		return nil
	}
	delete(p.conns, ln.Conn)
	hostEnds := ln.Code != websocket.CloseNormalClosure && !slices.Contains(p.leaves, ln.Conn)
	if !hostEnds {
		c.leave()
		return p.target.Gone(len(p.conns))
	}
	_, err := c.take(func(string) bool { return false }, nil)
	c.mu.Lock()
	closed, code := c.closed, c.code
	c.mu.Unlock()
	c.leave()
	if !closed || code != ln.Code {
		return fmt.Errorf("ended with %d, not %d: %v", code, ln.Code, err)
	}
	p.compared++
	return nil
}

// expect waits for what a recorded frame stands for, and compares it.
func (p *player) expect(c *client, f object) error {
	key := sortKey(p.substitute(f).(object))
	kind, _ := f["kind"].(string)
	switch {
	case kind == "subscription.session_projection":
		return p.expectState(c, f)
	case kind == "subscription.session_event":
		return p.expectEvent(c, f)
	case strings.HasPrefix(key, "response "), strings.HasPrefix(key, "capability "), kind == "accepted", kind == "incompatible", kind == "client.capability.registration_release", kind == "client.capability.call", kind == "subscription.closed":
		var want func(object) bool
		if kind == "client.capability.call" {
			want = func(g object) bool { return reflect.DeepEqual(g["arguments"], f["arguments"]) } // parallel ones in any order
		}
		live, err := c.take(func(k string) bool { return k == key }, want)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return p.compare(f, live)
	}
	return nil
}

func (p *player) unclaimed(id any) bool {
	for _, live := range p.ids {
		if live == id {
			return false
		}
	}
	return true
}

// expectState waits until the live state is as far as the recorded one: a Turn
// that has ended, an Interaction that is pending or gone.
func (p *player) expectState(c *client, f object) error {
	snap := f["snapshot"].(object)
	turn, _ := snap["rootTurn"].(object)
	pending := snap["interactions"].(object)["pending"].([]any)
	terminal := turn != nil && turn["terminalEventId"] != nil
	if turn == nil || (!terminal && len(pending) == 0 && p.known(turn["runId"])) {
		return nil
	}
	if terminal && p.known(turn["terminalEventId"]) {
		return nil // the same end, told again
	}
	live, err := c.take(func(k string) bool { return k == "subscription.session_projection" }, func(g object) bool {
		s := g["snapshot"].(object)
		have, _ := s["rootTurn"].(object)
		if have == nil || (p.known(turn["runId"]) && have["runId"] != p.substitute(turn["runId"])) || (!p.known(turn["runId"]) && !p.unclaimed(have["runId"])) {
			return false
		}
		return (have["terminalEventId"] != nil) == terminal && len(s["interactions"].(object)["pending"].([]any)) == len(pending)
	})
	if err != nil {
		return fmt.Errorf("state %v: %w", turn["status"], err)
	}
	s := live["snapshot"].(object)
	if !terminal {
		p.ids[fmt.Sprint(turn["runId"])] = fmt.Sprint(s["rootTurn"].(object)["runId"])
		for i, rec := range pending {
			if err := p.compare(rec, s["interactions"].(object)["pending"].([]any)[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return p.compare(turn, s["rootTurn"])
}

func (p *player) known(id any) bool {
	_, ok := p.ids[fmt.Sprint(id)]
	return ok
}

// expectEvent compares tool events call by call.
func (p *player) expectEvent(c *client, f object) error {
	event := f["event"].(object)
	rec := "use " + fmt.Sprint(event["toolUseId"])
	if p.skips(event) {
		return nil
	}
	live, err := c.take(func(k string) bool {
		return strings.HasPrefix(k, fmt.Sprint("event ", p.substitute(f["subscriptionId"])))
	}, func(g object) bool {
		e := g["event"].(object)
		if e["type"] != event["type"] || e["chunk"] != event["chunk"] {
			return false
		}
		if use, ok := p.ids[rec]; ok {
			return e["toolUseId"] == use
		}
		return e["type"] == "tool_start" && e["toolName"] == event["toolName"]
	})
	if err != nil {
		return fmt.Errorf("%v of %v: %w", event["type"], event["toolName"], err)
	}
	p.ids[rec] = fmt.Sprint(live["event"].(object)["toolUseId"])
	return p.compare(event, live["event"])
}

// skips reports whether an event is of a tool that the Host does not have.
func (p *player) skips(event object) bool {
	use := fmt.Sprint(event["toolUseId"])
	if name, ok := event["toolName"].(string); ok && slices.Contains(p.target.SkipTools, name) {
		if p.skipUses == nil {
			p.skipUses = map[string]bool{}
		}
		p.skipUses[use] = true
	}
	return p.skipUses[use]
}

// minted are the keys whose values the Host makes up; pairs of them are learnt.
var minted = map[string]bool{
	"rootId": true, "hostEpoch": true, "connectionId": true, "subscriptionId": true, "runId": true, "turnId": true,
	"invocationId": true, "interactionId": true, "terminalEventId": true, "entryId": true, "nextCursor": true, "revision": true,
	"actualRevision": true, "expectedRevision": true, "toolUseId": true,
}

// volatile are the keys that differ from run to run, or that a recording of a
// Host with another past cannot share.
var volatile = map[string]bool{
	"ts": true, "createdAt": true, "lastUsedAt": true, "statusUpdatedAt": true, "committedAt": true, "durationMs": true, "id": true,
	"operationId": true, "stepId": true, "toolCallId": true, "sequence": true, "projectionRevision": true, "metadataRevision": true,
	"queueRevision": true, "connections": true, "activeOperations": true, "activeResidencies": true, "transcript": true, "snapshot": true,
	"sessions": true, "hasUnread": true, "lastMessageAt": true, "lastMessagePreview": true, "connectionLocked": true, "liveRunState": true,
	"fragments": true, "nextCursor": true, "rawBytes": true, "throughSequence": true, "activeAssistantStreams": true,
}

func (p *player) ignored(key string) bool {
	return volatile[key] || slices.Contains(p.target.Ignore, key)
}

// compare holds a live value to a recorded one and learns ids from it.
func (p *player) compare(rec, live any) error {
	p.compared++
	return p.same("", "", rec, live)
}

func (p *player) same(path, key string, rec, live any) error {
	if p.ignored(key) {
		return nil
	}
	switch r := rec.(type) {
	case object:
		l, ok := live.(object)
		if !ok {
			return fmt.Errorf("%s: %v, not an object", path, live)
		}
		for k, m := range r {
			if _, has := l[k]; !has && !p.ignored(k) {
				return fmt.Errorf("%s.%s is missing", path, k)
			}
			if err := p.same(path+"."+k, k, m, l[k]); err != nil {
				return err
			}
		}
		for k := range l {
			if _, has := r[k]; !has && !p.ignored(k) {
				return fmt.Errorf("%s.%s is too much: %v", path, k, l[k])
			}
		}
		return nil
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) != len(r) {
			return fmt.Errorf("%s: %v, not %v", path, live, rec)
		}
		for i := range r {
			if err := p.same(fmt.Sprintf("%s[%d]", path, i), key, r[i], l[i]); err != nil {
				return err
			}
		}
		return nil
	case float64:
		if minted[key] {
			return nil // revisions count what happened before the recording
		}
	case string:
		if have, known := p.ids[r]; known && have == live {
			return nil
		}
		if s, ok := live.(string); ok && minted[key] {
			if have, known := p.ids[r]; known && have != s && key != "revision" && key != "actualRevision" && key != "nextCursor" && key != "hostEpoch" && key != "toolUseId" {
				return fmt.Errorf("%s: %q stood for %q before, now for %q", path, r, have, s)
			}
			p.ids[r] = s
			return nil
		}
	}
	if rec != live {
		return fmt.Errorf("%s: %v, not %v", path, live, rec)
	}
	return nil
}
