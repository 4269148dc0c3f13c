package hostsuite

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host"
	"askback/host/access"
	"askback/internal/hostsuite/replay"
	"askback/protocol"
)

// recordings are those that our Host can be held to. Left out is what differs by
// decision: a binding ends with its provider's connection, a message for the
// running Turn waits for the next one, cursors are its own.
var recordings = []replay.Case{
	{File: "02-happy-call-bypass.jsonl"},
	{File: "04-chunked-result.jsonl", Until: 81, Chunks: 42},
	{File: "05-cancel-accepted.jsonl"},
	{File: "05-cancel-chunks.jsonl"},
	{File: "05-cancel-dispatched.jsonl"},
	{File: "06-provider-disconnect-accepted.jsonl", Leaves: []string{"P"}, Skip: []int{76, 77}},
	{File: "06-provider-disconnect-dispatched.jsonl", Leaves: []string{"P"}, Skip: []int{73, 74}},
	{File: "07-rejected-and-failed.jsonl"},
	{File: "08-provider-protocol-violations.jsonl"},
	{
		File:   "11-bad-handshakes.jsonl",
		Ignore: []string{"compatibilityEpoch"}, // ours is newer, and names it when it refuses
		Leaves: []string{"ok", "unknown-key", "clientInstanceId-spaces", "generation", "ping", "bare-question-mark", "protocol-0-5", "composition-missing"},
		// Messages that are recorded as a description only, and a silence of 5 s.
		Except: []string{"binary", "not-json", "empty-text", "newline-suffix", "two-messages-in-one", "oversize-786433", "exact-786432", "invalid-utf8", "fragmented-3", "silent"},
	},
	{
		File: "12-request-envelope.jsonl",
		Leaves: []string{"ok", "requestId-128-any-chars", "requestId-reuse-after-done", "unauthorized-operation", "unauthorized-host-path",
			"get-unknown-session", "list_continue-stale-revision", "replace-64-tools", "replace-cwd-without-right", "replace-proxy-name-collision",
			"64-in-flight"},
		// Ours answers at once, and says of what it does not serve that it is unavailable,
		// and of names that collide which they are. Its host.status overtakes nothing.
		Except: []string{"65-in-flight", "200-in-flight", "duplicate-in-flight-requestId", "64-in-flight+host.status", "unauthorized-operation", "replace-proxy-name-collision"},
	},
	{File: "27-toolcallid-and-content-strictness.jsonl", Leaves: []string{"displayText"}, Except: []string{"text-48KiB+1"}},
	{File: "13-turn-and-message-operations.jsonl", Until: 45},
	{File: "14-session-catalog.jsonl", Skip: []int{16, 18, 28, 29, 32, 40}, Until: 92},
	{File: "15-transcript-paging.jsonl", Skip: []int{84, 97}},
	{File: "17-registration-lifecycle.jsonl", Skip: []int{259, 262, 269, 270}},
	{File: "18-concurrency-affinity.jsonl", Until: 186},
}

// TestOurHostAgainstRecordings plays recorded clients against our Host.
func TestOurHostAgainstRecordings(t *testing.T) {
	for _, c := range recordings {
		t.Run(c.File, func(t *testing.T) {
			t.Parallel()
			c.File = filepath.Join("..", "..", "testdata", "transcripts", c.File)
			tokens := access.Ephemeral()
			token, err := tokens.Add("recorded", access.RoleBoth, 0)
			if err != nil {
				t.Fatal(err)
			}
			h, err := host.Open(host.Options{Dir: t.TempDir(), Access: tokens, WorkDir: "/srv/project", DrainGrace: -1, CompositionRevision: "3", Executor: recordedModel{}})
			if err != nil {
				t.Fatal(err)
			}
			l := serve(t, h.Serve, func() { _ = h.Close() })
			dial := func(string) (*websocket.Conn, error) {
				d := websocket.Dialer{NetDialContext: l.DialContext}
				ws, _, err := d.DialContext(context.Background(), "ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + token}})
				return ws, err
			}
			m := newMonitor(t, dial)
			replay.Play(t, c, replay.Target{
				Dial: dial, Gone: m.gone, Known: map[string]string{replay.Project: "default", "maka-proj": "project"},
				SkipTools: []string{"load_tools"}, Ignore: []string{"backend", "llmConnectionSlug", "model"},
			})
		})
	}
}

// recordedModel plays the part of the recordings' scripted model.
type recordedModel struct{}

var calls = regexp.MustCompile(`\[\[(call|calls|fail|hang)(?: \S+(?: (.*?))?)?\]\]( |$)`)

func (recordedModel) Execute(ctx context.Context, run *host.Run) error {
	for _, m := range calls.FindAllStringSubmatch(run.Text(), -1) {
		var list []host.ToolCall
		switch m[1] {
		case "fail":
			return &host.TurnError{Class: "invalid_request_error", Message: "fake model failure (code=invalid_request_error, status=400)"}
		case "hang":
			<-ctx.Done()
			return ctx.Err()
		case "call":
			list = []host.ToolCall{{Server: "wire", Tool: "echo", Arguments: json.RawMessage(m[2])}}
		case "calls":
			n, _ := strconv.Atoi(m[2])
			for i := range n {
				list = append(list, host.ToolCall{Server: "wire", Tool: "echo", Arguments: json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)})
			}
		}
		started, err := run.Start(ctx, list...)
		if err != nil {
			return err
		}
		for _, c := range started {
			c.Wait()
		}
	}
	return nil
}

// monitor is a connection of the test's own that asks how many there are.
type monitor struct {
	p *rawProvider
}

func newMonitor(t *testing.T, dial func(string) (*websocket.Conn, error)) *monitor {
	t.Helper()
	ws, err := dial("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	p := &rawProvider{t: t, ws: ws, dialect: protocol.Dialect39}
	p.send(&protocol.Hello{ClientInstanceID: "monitor", CompatibilityEpoch: int(protocol.Dialect39)})
	if _, ok := p.read().(*protocol.Accepted); !ok {
		t.Fatal("the monitor was not accepted")
	}
	return &monitor{p}
}

func (m *monitor) gone(n int) error {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if m.p.do(&protocol.HostStatusInput{}).(*protocol.HostStatusResult).Connections == n+1 {
			return nil
		}
	}
	return errors.New("the Host did not notice that a connection left")
}
