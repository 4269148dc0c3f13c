package tui

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"askback/tui/hostview"
)

// The test binary is also the program that tests start in a terminal of its own: with childEnv set it runs the
// surface on a scripted Host and writes every call of it to a file.
const (
	childEnv = "ASKBACK_TUI_CHILD" // "connected" or "asking"
	childLog = "ASKBACK_TUI_LOG"
	childOwn = "ASKBACK_TUI_OWN" // the tools run here
)

// shellMain is a small shell with job control, where the system has that.
var shellMain = func() int { return 1 }

// runChild runs that program, when this process is it.
func runChild() bool {
	switch os.Getenv(childEnv) {
	case "":
		return false
	case "shell":
		os.Exit(shellMain())
	}
	f, err := os.OpenFile(os.Getenv(childLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	h := &childHost{log: f, scene: os.Getenv(childEnv), boom: make(chan struct{}, 1)}
	o := Options{Backend: h, Version: "test", Logger: slog.New(slog.NewTextHandler(f, nil))}
	if os.Getenv(childOwn) != "" {
		o.Servers = demoServers()
	}
	o.Watch = func(w Watched) {
		if strings.Contains(w.Frame, "panic now") {
			panic("in Update")
		}
	}
	out, err := Run(context.Background(), o)
	h.write("end %s %v stopped=%d err=%v", out.Reason, out.Signal, len(out.Stopped), err)
	fmt.Fprintf(os.Stdout, "after: %s\r\n", out.Reason)
	if err != nil {
		os.Exit(1)
	}
	return true
}

// childHost is a Host with one session.
type childHost struct {
	mu    sync.Mutex
	log   *os.File
	scene string
	send  func(hostview.Event)
	boom  chan struct{}
}

func (h *childHost) write(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.log, format+"\n", args...)
}

func (h *childHost) Run(ctx context.Context, send func(hostview.Event)) error {
	h.mu.Lock()
	h.send = send
	h.mu.Unlock()
	for _, e := range ready(oursAt("wss://devbox:7443")) {
		send(e)
	}
	send(hostview.Catalog{Sessions: []hostview.Session{deploys()}})
	select {
	case <-ctx.Done():
	case <-h.boom:
		panic("in the Backend")
	}
	return nil
}

func (h *childHost) tell(e hostview.Event) {
	h.mu.Lock()
	send := h.send
	h.mu.Unlock()
	send(e)
}

func (h *childHost) Open(ctx context.Context, id string) error {
	h.tell(hostview.Projection{SessionID: "s1"})
	h.tell(hostview.Rows{SessionID: "s1", Reset: true, Start: true})
	if h.scene == "asking" {
		go func() {
			time.Sleep(50 * time.Millisecond)
			h.ask()
		}()
	}
	return nil
}

func (h *childHost) ask() {
	h.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: []hostview.Interaction{interaction("i1", "call1", deployForm())}})
}

func (h *childHost) Older(context.Context, string) error { return nil }

func (h *childHost) Create(ctx context.Context, s hostview.NewSession) (hostview.Session, error) {
	return deploys(), nil
}
func (h *childHost) Remove(context.Context, hostview.Session) error { return nil }
func (h *childHost) SetMode(ctx context.Context, s hostview.Session, mode string) (hostview.Session, error) {
	return s, nil
}

func (h *childHost) Start(ctx context.Context, session, text string) (hostview.Turn, error) {
	h.write("start %q", text)
	switch text {
	case "panic in command":
		panic("in a command")
	case "panic in backend":
		h.boom <- struct{}{}
	case "ask":
		h.ask()
	case "hello":
		h.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")})
		h.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{{Key: "u1", Kind: hostview.RowUser, TurnID: "t1", Text: text}}})
	}
	return *turn("running"), nil
}

func (h *childHost) Stop(ctx context.Context, t hostview.Turn) (hostview.Turn, error) {
	h.write("stop %s", t.TurnID)
	t.Status = "cancelled"
	return t, nil
}

func (h *childHost) Answer(ctx context.Context, in hostview.Interaction, a hostview.Answer) (hostview.Outcome, error) {
	h.write("answer %s %s", in.ID, a.Form.Action)
	return hostview.Outcome{Status: hostview.StatusAnswered, Answer: a}, nil
}
