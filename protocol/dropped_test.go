package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

// legalThenDropped are the connections of the recordings that ended in 1006
// although their last client frame is well formed: it broke a rule of state
// (named), or the connection ended for another reason ("left").
var legalThenDropped = map[string]string{
	"03-trusted-capability-provider.jsonl A":                  "capability frame of a connection without the capability",
	"04-chunked-result.jsonl over40K":                         "the next frame was too large to record",
	"06-provider-disconnect-accepted.jsonl P":                 "left",
	"06-provider-disconnect-dispatched.jsonl P":               "left",
	"08-provider-protocol-violations.jsonl P:":                "phase of the invocation",
	"11-bad-handshakes.jsonl unknown-key":                     "left",
	"11-bad-handshakes.jsonl clientInstanceId-spaces":         "left",
	"11-bad-handshakes.jsonl generation":                      "left",
	"11-bad-handshakes.jsonl request-first":                   "no hello first",
	"11-bad-handshakes.jsonl capability-first":                "no hello first",
	"11-bad-handshakes.jsonl hello-twice":                     "second hello",
	"11-bad-handshakes.jsonl ping":                            "left",
	"11-bad-handshakes.jsonl ok":                              "left",
	"11-bad-handshakes.jsonl protocol-0-5":                    "left",
	"11-bad-handshakes.jsonl composition-missing":             "left",
	"12-request-envelope.jsonl 64-in-flight":                  "left",
	"12-request-envelope.jsonl 65-in-flight":                  "too many in flight",
	"12-request-envelope.jsonl 64-in-flight+host.status":      "left",
	"12-request-envelope.jsonl ok":                            "left",
	"12-request-envelope.jsonl 200-in-flight":                 "too many in flight",
	"12-request-envelope.jsonl unauthorized-operation":        "left",
	"12-request-envelope.jsonl unauthorized-host-path":        "left",
	"12-request-envelope.jsonl get-unknown-session":           "left",
	"12-request-envelope.jsonl list_continue-stale-revision":  "left",
	"12-request-envelope.jsonl null":                          "the next message is recorded raw",
	"12-request-envelope.jsonl string":                        "the next message is recorded raw",
	"12-request-envelope.jsonl bad-json":                      "the next message is recorded raw",
	"12-request-envelope.jsonl bad-frame-after-good":          "the next message is recorded raw",
	"12-request-envelope.jsonl bad-json-kills-in-flight":      "the next message is recorded raw",
	"12-request-envelope.jsonl requestId-128-any-chars":       "left",
	"12-request-envelope.jsonl replace-64-tools":              "left",
	"12-request-envelope.jsonl replace-cwd-without-right":     "left",
	"12-request-envelope.jsonl replace-proxy-name-collision":  "left",
	"12-request-envelope.jsonl requestId-reuse-after-done":    "left",
	"12-request-envelope.jsonl duplicate-in-flight-requestId": "requestId in use",
	"20-revoke-and-drain.jsonl temp":                          "credential revoked",
	"20-revoke-and-drain.jsonl A":                             "Host drained",
	"27-toolcallid-and-content-strictness.jsonl text-48KiB+1": "the next frame was too large to record",
	"27-toolcallid-and-content-strictness.jsonl displayText":  "left",
	"30-official-provider.jsonl c1":                           "left",
	"30a-official-provider-schema-keyword-crash.jsonl c1":     "left",
	"31-official-run.jsonl c1":                                "left",
	"32-official-tui.jsonl c1":                                "left",
}

// TestDroppedConnections wants the last client frame of every connection that
// the real Host dropped to be malformed here too, but for those above.
func TestDroppedConnections(t *testing.T) {
	malformed, legal := 0, map[string]bool{}
	for file, lines := range readTranscripts(t) {
		last := map[string]recorded{}
		for _, r := range lines {
			if r.Dir == "c2h" && r.Frame != nil {
				last[r.Conn] = r
			}
			if r.Event != "close" || r.Code != 1006 {
				continue
			}
			l, ok := last[r.Conn]
			if !ok {
				continue
			}
			name := file + " " + r.Conn
			if strings.HasPrefix(name, "08-") {
				name = "08-provider-protocol-violations.jsonl P:"
			}
			_, err := DecodeClientFrame(l.Frame, Dialect39)
			switch _, listed := legalThenDropped[name]; {
			case err != nil && (!listed || strings.HasPrefix(name, "08-")):
				malformed++
			case err != nil:
				t.Errorf("%s:%d %s: %v", file, l.line, r.Conn, err)
			case !listed:
				t.Errorf("%s:%d %s: the real Host dropped this, we read it", file, l.line, r.Conn)
			default:
				legal[name] = true
			}
		}
	}
	if malformed < 40 || len(legal) != len(legalThenDropped) {
		t.Errorf("%d malformed, %d of %d legal", malformed, len(legal), len(legalThenDropped))
	}
}

// TestAnsweredRequests wants every request that the real Host answered to be
// readable here, whatever became of its connection later.
func TestAnsweredRequests(t *testing.T) {
	answered := 0
	for file, lines := range readTranscripts(t) {
		type id struct{ conn, request string }
		asked := map[id]recorded{}
		for _, r := range lines {
			var f struct{ RequestID string }
			if r.Frame == nil || json.Unmarshal(r.Frame, &f) != nil || f.RequestID == "" {
				continue
			}
			if r.Dir == "c2h" {
				asked[id{r.Conn, f.RequestID}] = r
				continue
			}
			q, ok := asked[id{r.Conn, f.RequestID}]
			if !ok {
				continue
			}
			answered++
			if err := roundTrip(q); err != nil {
				t.Errorf("%s:%d: %v", file, q.line, err)
			}
		}
	}
	if answered < 500 {
		t.Errorf("only %d answered requests", answered)
	}
}
