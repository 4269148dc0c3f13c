package testhost39

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"askback/internal/hostsuite/replay"
	"askback/internal/memnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object_ = map[string]any

// replays are the recordings that this Host can be held to, with the
// credentials that are not an ordinary publishing client's.
var replays = []struct {
	replay.Case
	creds map[string]Credential
}{
	{Case: replay.Case{File: "01-ask-mode-boundary-refusal.jsonl"}},
	{Case: replay.Case{File: "02-happy-call-bypass.jsonl"}},
	{Case: replay.Case{File: "03-trusted-capability-provider.jsonl"}, creds: map[string]Credential{
		"P": {Principal: "p", Kind: CapabilityProvider}, "A": {Principal: "a"},
	}},
	{Case: replay.Case{File: "04-chunked-result.jsonl", Until: 81, Chunks: 42}}, // then frames too large to record
	{Case: replay.Case{File: "05-cancel-accepted.jsonl"}},
	{Case: replay.Case{File: "05-cancel-chunks.jsonl"}},
	{Case: replay.Case{File: "05-cancel-dispatched.jsonl"}},
	{Case: replay.Case{File: "06-provider-disconnect-accepted.jsonl", Leaves: []string{"P"}}},
	{Case: replay.Case{File: "06-provider-disconnect-dispatched.jsonl", Leaves: []string{"P"}}},
	{Case: replay.Case{File: "07-rejected-and-failed.jsonl"}},
	{Case: replay.Case{File: "08-provider-protocol-violations.jsonl"}},
	{Case: replay.Case{File: "09-question-interaction.jsonl"}},
	{Case: replay.Case{File: "10-sandbox-boundary-interaction.jsonl"}},
	{Case: replay.Case{
		File:   "11-bad-handshakes.jsonl",
		Leaves: []string{"ok", "unknown-key", "clientInstanceId-spaces", "generation", "ping", "bare-question-mark", "protocol-0-5", "composition-missing"},
		// Messages that are recorded as a description only, and a silence of 5 s; see TestMessages.
		Except: []string{"binary", "not-json", "empty-text", "newline-suffix", "two-messages-in-one", "oversize-786433", "exact-786432", "invalid-utf8", "fragmented-3", "silent"},
	}},
	{Case: replay.Case{
		File: "12-request-envelope.jsonl",
		Leaves: []string{"ok", "requestId-128-any-chars", "requestId-reuse-after-done", "unauthorized-operation", "unauthorized-host-path",
			"get-unknown-session", "list_continue-stale-revision", "replace-64-tools", "replace-cwd-without-right", "replace-proxy-name-collision",
			"64-in-flight", "64-in-flight+host.status"},
		// This Host answers at once, so that nothing is ever in flight for long.
		Except: []string{"65-in-flight", "200-in-flight", "duplicate-in-flight-requestId"},
	}},
	{Case: replay.Case{File: "13-turn-and-message-operations.jsonl"}},
	{Case: replay.Case{File: "14-session-catalog.jsonl", Skip: []int{16, 18}}},   // pages of a catalog that was there before
	{Case: replay.Case{File: "15-transcript-paging.jsonl", Skip: []int{84, 91}}}, // pages of rows of other sizes; see TestPages
	{Case: replay.Case{File: "17-registration-lifecycle.jsonl"}},
	{Case: replay.Case{File: "18-concurrency-affinity.jsonl"}, creds: map[string]Credential{"cwd": {Principal: "owner", Publish: true, HostPaths: true}}},
	{Case: replay.Case{File: "27-toolcallid-and-content-strictness.jsonl", Leaves: []string{"displayText"}, Except: []string{"text-48KiB+1"}}},
	{Case: replay.Case{File: "28-provider-retry.jsonl"}},
}

// TestReplay holds this Host to what the real one was recorded doing.
func TestReplay(t *testing.T) {
	for _, r := range replays {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			r.File = filepath.Join("..", "..", "testdata", "transcripts", r.File)
			tokens := map[string]Credential{"ordinary": {Principal: "owner", Publish: true}}
			for conn, cred := range r.creds {
				tokens[conn] = cred
			}
			h := New(Options{Tokens: tokens, ProjectID: replay.Project, ProjectName: "maka-proj"})
			l := memnet.Listen("host")
			served := make(chan error, 1)
			go func() { served <- h.Serve(l) }()
			defer func() {
				h.Close()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			replay.Play(t, r.Case, replay.Target{
				Dial: func(conn string) (*websocket.Conn, error) {
					token := "ordinary"
					if _, ok := r.creds[conn]; ok {
						token = conn
					}
					d := websocket.Dialer{NetDialContext: l.DialContext}
					ws, _, err := d.DialContext(context.Background(), "ws://host/runtime-host", http.Header{"Authorization": {"Bearer " + token}})
					return ws, err
				},
				Gone: h.left,
			})
		})
	}
}

// left waits until the Host has only n connections.
func (h *Host) left(n int) error {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		h.mu.Lock()
		have := len(h.conns)
		h.mu.Unlock()
		if have == n {
			return nil
		}
	}
	return errors.New("the Host did not notice that a connection left")
}
