package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a hand-written client of the server, so that the bytes on the wire can be seen.
type peer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

func start(t *testing.T, opts Options) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := New(opts)
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(t.Context(), inR, outW) }()
	t.Cleanup(func() {
		inW.Close()
		if err := <-ended; err != nil {
			t.Errorf("server ended with %v", err)
		}
		outR.Close()
	})
	return &peer{t: t, in: inW, out: bufio.NewReader(outR)}
}

type answer struct {
	ID     int
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`

func (p *peer) call(caps, method, params string) answer {
	p.t.Helper()
	p.n++
	sep := ","
	if params == "" {
		sep = ""
	}
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s%s}}`+"\n", p.n, method, fmt.Sprintf(meta, caps), sep, params)
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("read: %v", err)
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		if a.ID == p.n {
			return a
		}
	}
}

type round struct {
	ResultType    string
	InputRequests json.RawMessage
	RequestState  *string
	IsError       bool
	Content       []struct{ Text string }
}

func (a answer) round(t *testing.T) round {
	t.Helper()
	if a.Error != nil {
		t.Fatalf("error %d %s", a.Error.Code, a.Error.Message)
	}
	var r round
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

const form2 = `{"elicitation":{"form":{}}}`

func TestDeployIsTheExampleToTheLetter(t *testing.T) {
	p := start(t, Options{})
	r := p.call(form2, "tools/call", `"name":"deploy","arguments":{"artifact":"build-42"}`).round(t)
	want := `{"target":{"method":"elicitation/create","params":{"mode":"form","message":"Choose the deployment target","requestedSchema":{"type":"object","properties":{"environment":{"type":"string","enum":["staging","production"]},"confirm":{"type":"boolean"}},"required":["environment","confirm"]}}}}`
	if r.ResultType != "input_required" || string(r.InputRequests) != want || r.RequestState == nil {
		t.Fatalf("got %+v\n%s", r, r.InputRequests)
	}
	for _, c := range []struct {
		answer, want string
		isError      bool
	}{
		{`{"action":"accept","content":{"environment":"staging","confirm":true}}`, "Deployed build-42 to staging.", false},
		{`{"action":"accept","content":{"environment":"staging","confirm":false}}`, "not confirmed", true},
		{`{"action":"decline"}`, "declined", true},
		{`{"action":"cancel"}`, "dismissed (cancel)", true},
	} {
		got := p.call(form2, "tools/call", fmt.Sprintf(`"name":"deploy","arguments":{"artifact":"build-42"},"inputResponses":{"target":%s},"requestState":%q`, c.answer, *r.RequestState)).round(t)
		if got.IsError != c.isError || !strings.Contains(got.Content[0].Text, c.want) {
			t.Errorf("%s: got %+v", c.answer, got)
		}
	}
}

func TestStateIsBoundToItsCall(t *testing.T) {
	p := start(t, Options{})
	r := p.call(form2, "tools/call", `"name":"deploy","arguments":{"artifact":"a"}`).round(t)
	retry := func(tool, args, state string) answer {
		return p.call(form2, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,"inputResponses":{"target":{"action":"decline"}},"requestState":%q`, tool, args, state))
	}
	if a := retry("deploy", `{ "artifact" : "a" }`, *r.RequestState); a.Error != nil {
		t.Errorf("equal arguments in another spelling: %+v", a.Error)
	}
	changed := []byte(*r.RequestState)
	changed[3] ^= 1
	for name, a := range map[string]answer{
		"other arguments": retry("deploy", `{"artifact":"b"}`, *r.RequestState),
		"other tool":      retry("wizard", `{"artifact":"a"}`, *r.RequestState),
		"changed":         retry("deploy", `{"artifact":"a"}`, string(changed)),
		"garbage":         retry("deploy", `{"artifact":"a"}`, "x"),
	} {
		if a.Error == nil || a.Error.Code != codeInvalidParams {
			t.Errorf("%s: got %s %+v", name, a.Result, a.Error)
		}
	}
}

func TestPairKeepsItsOrder(t *testing.T) {
	p := start(t, Options{})
	r := p.call(form2, "tools/call", `"name":"pair","arguments":{}`).round(t)
	if z, a := bytes.Index(r.InputRequests, []byte(`"z":`)), bytes.Index(r.InputRequests, []byte(`"a":`)); z < 0 || a < z {
		t.Fatalf("want z before a: %s", r.InputRequests)
	}
}

func TestWaitPausesWithStateAlone(t *testing.T) {
	p := start(t, Options{})
	params := `"name":"wait","arguments":{"rounds":2}`
	for range 2 {
		r := p.call(`{}`, "tools/call", params).round(t)
		if r.ResultType != "input_required" || r.InputRequests != nil || r.RequestState == nil {
			t.Fatalf("got %+v", r)
		}
		params = fmt.Sprintf(`"name":"wait","arguments":{"rounds":2},"requestState":%q`, *r.RequestState)
	}
	if r := p.call(`{}`, "tools/call", params).round(t); r.Content[0].Text != "Done after 2 rounds." {
		t.Fatalf("got %+v", r)
	}
}

func TestAsksOnlyWhoDeclaresIt(t *testing.T) {
	p := start(t, Options{})
	for tool, capability := range map[string]string{"deploy": "elicitation", "mrtr_sample": "sampling", "mrtr_roots": "roots"} {
		args := `{}`
		if tool == "deploy" {
			args = `{"artifact":"a"}`
		}
		a := p.call(`{}`, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
		if a.Error == nil || a.Error.Code != codeMissingCapability || !strings.Contains(string(a.Error.Data), capability) {
			t.Errorf("%s: %s %+v", tool, a.Result, a.Error)
		}
	}
}

func TestPromptAndResourceAskToo(t *testing.T) {
	p := start(t, Options{})
	for _, c := range []struct{ method, params, key, answer, want string }{
		{"prompts/get", `"name":"briefing","arguments":{"topic":"forms"}`, "audience", `{"audience":"board"}`, "Brief the board on forms."},
		{"resources/read", `"uri":"demo://note"`, "reason", `{"reason":"curiosity"}`, "read because: curiosity"},
	} {
		r := p.call(form2, c.method, c.params).round(t)
		a := p.call(form2, c.method, fmt.Sprintf(`%s,"inputResponses":{%q:{"action":"accept","content":%s}},"requestState":%q`, c.params, c.key, c.answer, *r.RequestState))
		if a.Error != nil || !strings.Contains(string(a.Result), c.want) {
			t.Errorf("%s: %s %+v", c.method, a.Result, a.Error)
		}
	}
}

func TestRecordHoldsEveryMessage(t *testing.T) {
	var b bytes.Buffer
	p := start(t, Options{Record: &b})
	p.call(`{}`, "tools/call", `"name":"plain","arguments":{"text":"x"}`)
	if !strings.Contains(b.String(), `"method":"tools/call"`) || strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("record: %q", b.String())
	}
}
