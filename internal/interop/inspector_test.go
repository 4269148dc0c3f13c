//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"askback/forms"
	"askback/internal/inspect"
	"askback/mcpmgr"
	"askback/mcpmgr/config"
)

// inspected is an inspector on one server of another's, whose questions a test answers.
type inspected struct {
	t      *testing.T
	ins    *inspect.Inspector
	log    *inspect.Log
	events chan inspect.Event
	asked  []string // kinds, in their order
	notes  []string // of each
}

func inspecting(t *testing.T, s config.Server) *inspected {
	t.Helper()
	s.Name = "peer"
	i := &inspected{t: t, log: inspect.NewLog(), events: make(chan inspect.Event, 10_000)}
	i.ins = inspect.Open(inspect.Options{Servers: []config.Server{s}, Name: "askback", Version: "0", Tell: func(e inspect.Event) { i.events <- e }})
	t.Cleanup(i.ins.Close)
	if err := i.ins.Wait(t.Context(), s.Name); err != nil {
		t.Fatal(err)
	}
	return i
}

// call runs a call and answers all that it asks: forms with what they start from and a few values, an address with
// consent, sampling with a text.
func (i *inspected) call(method, name, args string) inspect.Ended {
	i.t.Helper()
	run := i.ins.Call(inspect.Request{Server: i.ins.Names()[0], Method: method, Name: name, Arguments: json.RawMessage(args)})
	late := time.After(30 * time.Second)
	for {
		select {
		case e := <-i.events:
			i.log.Apply(e)
			switch e := e.(type) {
			case inspect.Asked:
				i.asked = append(i.asked, string(e.Ask.Kind))
				i.notes = append(i.notes, e.Ask.Note())
				i.ins.Answer(e.Ask.ID, i.reply(e.Ask))
			case inspect.Ended:
				if e.Run == run {
					return e
				}
			}
		case <-late:
			i.t.Fatalf("%s %s does not end", method, name)
		}
	}
}

func (i *inspected) reply(a *inspect.Ask) inspect.Reply {
	switch a.Kind {
	case inspect.AskURL:
		return inspect.Reply{Result: forms.Result{Action: forms.ActionAccept}}
	case inspect.AskSampling:
		m, err := inspect.SamplingAnswer("hello there")
		if err != nil {
			i.t.Fatal(err)
		}
		return inspect.Reply{Message: m}
	}
	values := a.Form.Form.Defaults()
	for _, f := range a.Form.Form.Fields {
		switch {
		case f.Name == "ok" || f.Name == "agree":
			values[f.Name] = forms.BoolValue(true)
		case f.Name == "name" || f.Name == "pin":
			values[f.Name] = forms.TextValue("abcd")
		case f.Required && f.HasOptions() && values[f.Name].IsZero():
			values[f.Name] = forms.TextValue(f.Options[0].Value)
		}
	}
	return inspect.Reply{Result: forms.Accept(values)}
}

func (i *inspected) text(e inspect.Ended) string {
	i.t.Helper()
	if e.Err != nil {
		i.t.Fatal(e.Err)
	}
	return inspect.ResultText(i.log.OfRun(e.Run).Method, e.Result.Raw)
}

// The inspector against the TypeScript SDK: five kinds in one round, rounds with a state alone, a prompt and a
// resource.
func TestInspectorTypeScript(t *testing.T) {
	dir := packages(t)
	fixture := filepath.Join(dir, "fixture")
	for name, server := range map[string]func(t *testing.T) config.Server{
		"stdio": func(*testing.T) config.Server {
			s := stdio("node", "server.mjs")
			s.Dir = fixture
			return s
		},
		"http": func(t *testing.T) config.Server {
			return httpServer(listening(t, fixture, "node", "server.mjs", "PORT") + "/mcp")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			s.Roots = []config.Root{{URI: "file:///tmp", Name: "tmp"}}
			i := inspecting(t, s)
			got := i.text(i.call("tools/call", "all_requests", `{"only":"a,b,u,s,r"}`))
			if fmt.Sprint(i.asked) != "[form form url sampling]" || !strings.Contains(got, "hello there") || !strings.Contains(got, "file:///tmp") || !strings.Contains(got, `"u":{"action":"accept"}`) {
				t.Errorf("%v: %s", i.asked, got)
			}
			if slices.ContainsFunc(i.notes, func(n string) bool { return n != inspect.OriginNote }) {
				t.Error(i.notes)
			}
			c := i.log.Conversations[0]
			if qs := c.Questions(0); len(c.Legs) != 2 || len(qs) != 5 || qs[4].Method != "roots/list" || qs[4].Answer == nil || !c.Legs[1].Request.Echoed {
				t.Errorf("%d legs, %+v", len(c.Legs), qs)
			}
			e := i.call("tools/call", "poll", `{"n":3}`)
			if got := i.text(e); !strings.Contains(got, "3 empty rounds") || len(i.log.OfRun(e.Run).Legs) != 4 {
				t.Error(got)
			}
			if got := i.text(i.call("tools/call", "all_kinds", `{}`)); !strings.Contains(got, `"action":"accept"`) {
				t.Error(got)
			}
			if got := i.text(i.call("prompts/get", "ask_prompt", `{"lang":"go"}`)); !strings.Contains(got, "go/") {
				t.Error(got)
			}
			for range 2 { // twice asks twice
				n := len(i.asked)
				if got := i.text(i.call("resources/read", "demo://secret", "")); !strings.Contains(got, `unlocked with {"pin":"abcd"}`) || len(i.asked) != n+1 {
					t.Error(got)
				}
			}
			var out strings.Builder
			if err := i.log.Export(&out, inspect.Filter{}, false); err != nil || strings.Contains(out.String(), "hello there") || strings.Contains(out.String(), "file:///tmp") {
				t.Error(err, out.String())
			}
		})
	}
}

// A legacy server with sessions asks by itself, without the note.
func TestInspectorLegacySessions(t *testing.T) {
	dir := packages(t)
	i := inspecting(t, httpServer(listening(t, filepath.Join(dir, "fixture"), "node", "legacy-sessionful.mjs", "PORT")))
	if st := i.ins.Status(i.ins.Names()[0]); st.Era != mcpmgr.EraLegacy {
		t.Fatalf("%+v", st)
	}
	got := i.text(i.call("tools/call", "hi", "{}"))
	if fmt.Sprint(i.asked, i.notes) != "[form] []" || !strings.Contains(got, `"accept"`) {
		t.Errorf("%v %q %s", i.asked, i.notes, got)
	}
	if c := i.log.Conversations[0]; len(c.Legs) != 1 || len(c.Legs[0].Pushes) != 1 || c.Legs[0].Pushes[0].Answer == nil {
		t.Errorf("%+v", c.Legs[0])
	}
}
