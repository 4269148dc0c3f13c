package host

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"askback/host/access"
	"askback/protocol"
)

// TestKill kills a Host that is taking forms and answers, at random moments, and holds
// what it finds after the restart against what the clients had been told: no answer that
// was acknowledged is lost, none is delivered twice, every other form is closed.
func TestKill(t *testing.T) {
	rounds := 10
	if s := os.Getenv("ASKBACK_KILL_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	if testing.Short() {
		rounds = min(rounds, 2)
	}
	dir := t.TempDir()
	tokens, err := access.Open(filepath.Join(dir, "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, tokens: map[access.Role]string{}}
	for _, role := range []access.Role{access.RoleClient, access.RoleProvider} {
		if r.tokens[role], err = tokens.Add(string(role), role, 0); err != nil {
			t.Fatal(err)
		}
	}
	known := &ledger{forms: map[string]*ledgerForm{}}
	for round := range rounds {
		killRound(t, r, dir, known, round)
		if t.Failed() {
			return
		}
	}
	r.opt = Options{Dir: dir, Access: tokens}
	r.start()
	defer r.stop()
	answered, closedForms := known.check(t, r.connect(access.RoleClient, 81, "judge"))
	t.Logf("%d rounds: %d answered, %d closed", rounds, answered, closedForms)
	if len(known.forms) == 0 {
		t.Error("no form was ever seen: nothing was tested")
	}
}

// ledger is what the clients of the killed Hosts know.
type ledger struct {
	mu    sync.Mutex
	forms map[string]*ledgerForm // by interaction
}

type ledgerForm struct {
	session   string
	sent      string // the value that was sent as the answer, "" none
	acked     bool
	delivered string // the value that the provider got
}

func killRound(t *testing.T, r *rig, dir string, known *ledger, round int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Process.Kill()
		t.Fatalf("the Host did not start: %v", err)
	}
	address = strings.TrimSpace(address)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { known.work(r, address, fmt.Sprintf("i%d-%d", round, i)) })
	}
	time.Sleep(time.Duration(rand.IntN(120)+20) * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	wg.Wait()
}

// worker is one terminal with its provider, on two connections of its own.
type worker struct {
	known          *ledger
	view, provider *websocket.Conn
	name, session  string
	wg             sync.WaitGroup
}

func dialHost(address, token, instance string) (*websocket.Conn, error) {
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+address+protocol.WebSocketPath, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		return nil, err
	}
	if err := ws.WriteJSON(frame{"kind": "hello", "clientInstanceId": instance, "protocolMin": 0, "protocolMax": 0, "compatibilityEpoch": 81}); err != nil {
		return nil, err
	}
	var f frame
	return ws, ws.ReadJSON(&f)
}

// work takes forms and answers them until the Host is gone.
func (l *ledger) work(r *rig, address, name string) {
	view, err := dialHost(address, r.tokens[access.RoleClient], name)
	if err != nil {
		return
	}
	defer view.Close()
	provider, err := dialHost(address, r.tokens[access.RoleProvider], name)
	if err != nil {
		return
	}
	defer provider.Close()
	w := &worker{known: l, view: view, provider: provider, name: name, session: "s-" + name}
	offer := frame{"offerId": "offer-" + name, "version": "1", "affinity": "session", "hostPathAccess": "none", "label": "L",
		"tools": []frame{{"serverId": name, "name": "tool", "inputSchema": frame{"type": "object"}}}}
	for _, req := range []frame{
		{"requestId": "p", "operation": "client.capability.replace", "input": frame{"registrationId": "reg-" + name, "offers": []frame{offer}}},
	} {
		if provider.WriteJSON(req) != nil {
			return
		}
	}
	var f frame
	if provider.ReadJSON(&f) != nil {
		return
	}
	w.wg.Go(w.provide)
	w.wg.Go(w.watch)
	w.wg.Wait()
}

// provide asks one form a call and ends the call with the answer.
func (w *worker) provide() {
	for {
		var f frame
		if w.provider.ReadJSON(&f) != nil {
			return
		}
		id := f["invocationId"]
		var out []frame
		switch f.text("kind") {
		case "client.capability.call":
			out = []frame{{"kind": "client.capability.accepted", "invocationId": id, "admissionEvidence": frame{"kind": "none"}}}
		case "client.capability.admitted":
			out = []frame{{"kind": "client.capability.interaction_request", "invocationId": id, "interactionId": "nested", "request": colour()}}
		case "client.capability.interaction_result":
			value := f.text("result.values.colour") // names the canonical interaction
			w.known.mu.Lock()
			form := w.known.forms[value]
			if form == nil || form.delivered != "" {
				panic("an answer was delivered twice, or to nobody's form: " + value)
			}
			form.delivered = value
			w.known.mu.Unlock()
			out = []frame{{"kind": "client.capability.result", "invocationId": id, "result": frame{"content": []frame{}}}}
		}
		for _, o := range out {
			if w.provider.WriteJSON(o) != nil {
				return
			}
		}
	}
}

// watch starts Turns of four calls, answers every form with its own id, and notes what it
// is told.
func (w *worker) watch() {
	n := 0
	ask := func(op string, input frame) bool {
		n++
		return w.view.WriteJSON(frame{"requestId": fmt.Sprintf("%s-%d", op, n), "operation": op, "input": input}) == nil
	}
	turn := func() bool {
		text := strings.Repeat("/call "+w.name+"/tool\n", 4)
		return ask("turn.start", frame{"sessionId": w.session, "turnId": newID(), "content": frame{"text": text}})
	}
	ask("session.create", frame{"sessionId": w.session, "workspace": frame{"kind": "project", "projectId": "default"}, "modelTarget": frame{"kind": "default"}})
	ask("subscription.open", frame{"sessionId": w.session, "transcript": frame{"kind": "none"}})
	turn()
	done := map[string]bool{}
	for {
		var f frame
		if w.view.ReadJSON(&f) != nil {
			return
		}
		if f["ok"] == true && f.text("operation") == "interaction.answer" {
			w.known.mu.Lock()
			w.known.forms[f.text("result.interactionId")].acked = true
			w.known.mu.Unlock()
		}
		list, _ := f.at("snapshot.interactions.pending").([]any)
		for _, v := range list {
			id := frame(v.(map[string]any)).text("interactionId")
			w.known.mu.Lock()
			seen := w.known.forms[id] != nil
			if !seen {
				w.known.forms[id] = &ledgerForm{session: w.session, sent: id}
			}
			w.known.mu.Unlock()
			if !seen && !ask("interaction.answer", frame{"sessionId": w.session, "interactionId": id, "answer": frame{
				"kind": "form", "action": "accept", "values": frame{"colour": id}}}) {
				return
			}
		}
		if ended := f.text("snapshot.rootTurn.terminalEventId"); ended != "" && !done[ended] {
			done[ended] = true
			if !turn() {
				return
			}
		}
	}
}

// check holds the stored Interactions against the ledger.
func (l *ledger) check(t *testing.T, judge *peer) (answered, closedForms int) {
	for id, form := range l.forms {
		in := judge.ok("interaction.query", frame{"sessionId": form.session, "interactionId": id})
		switch status := in.text("status"); {
		case status == "answered" && in.text("outcome.values.colour") == form.sent:
			answered++
		case status == "closed" && in.text("outcome.reason") == "host_restarted" && !form.acked && form.delivered == "":
			closedForms++
		default:
			t.Errorf("%s: %s %v, acknowledged %v, delivered %q", id, status, in["outcome"], form.acked, form.delivered)
		}
	}
	return answered, closedForms
}
