package inspect

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"askback/mcpmgr"
)

func TestFilter(t *testing.T) {
	ms := []*Message{
		{Seq: 1, Server: "a", Sent: true, ID: "1", Method: "tools/list", StateBytes: -1, Raw: json.RawMessage(`{"x":"Alpha"}`)},
		{Seq: 2, Server: "a", ID: "1", Method: "tools/list", Response: true, StateBytes: -1, Raw: json.RawMessage(`{"y":"beta"}`)},
		{Seq: 3, Server: "b", Sent: true, ID: `"2"`, Method: "tools/call", Call: 4, Leg: 2, StateBytes: 9, Raw: json.RawMessage(`{"params":{"inputResponses":{}}}`)},
		{Seq: 4, Server: "b", ID: `"2"`, Method: "tools/call", Call: 4, Leg: 2, Response: true, Failed: true, StateBytes: -1, Raw: json.RawMessage(`{"error":{}}`)},
		{Seq: 5, Server: "b", ID: "3", Method: "tools/call", Call: 5, Leg: 1, Response: true, StateBytes: -1, Raw: json.RawMessage(`{"result":{"inputRequests":{}}}`)},
	}
	for _, c := range []struct {
		filter string
		want   []int
	}{
		{"", []int{1, 2, 3, 4, 5}}, {"  ", []int{1, 2, 3, 4, 5}},
		{"alpha", []int{1}}, {"ALPHA", []int{1}}, {"server:b", []int{3, 4, 5}}, {"-server:b", []int{1, 2}},
		{"method:list sent", []int{1}}, {"received", []int{2, 4, 5}}, {"error", []int{4}}, {"-error received", []int{2, 5}},
		{"id:2", []int{3, 4}}, {"id:1", []int{1, 2}}, {"call:4", []int{3, 4}}, {"leg:1", []int{5}}, {"round", []int{3, 5}},
		{"text:beta", []int{2}}, {"nothing", nil}, {"http://x", nil}, {"-", []int{}},
	} {
		f := ParseFilter(c.filter)
		var got []int
		for _, m := range ms {
			if f.Fits(m) {
				got = append(got, m.Seq)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%q: %v, want %v", c.filter, got, c.want)
		}
	}
}

func TestDiff(t *testing.T) {
	a := &Message{Raw: json.RawMessage(`{"id":1,"params":{"name":"t","arguments":{"a":1}}}`)}
	b := &Message{Raw: json.RawMessage(`{"id":2,"params":{"name":"t","arguments":{"a":1},"inputResponses":{"k":{"action":"accept"}},"requestState":"[9 bytes]"}}`)}
	var minus, plus []string
	var left, right []string
	for _, c := range Diff(a, b) {
		switch c.Mark {
		case '-':
			minus = append(minus, strings.TrimSpace(c.Text))
		case '+':
			plus = append(plus, strings.TrimSpace(c.Text))
		}
		if c.Mark != '+' {
			left = append(left, c.Text)
		}
		if c.Mark != '-' {
			right = append(right, c.Text)
		}
	}
	if strings.Join(left, "\n") != Pretty(a.Raw) || strings.Join(right, "\n") != Pretty(b.Raw) {
		t.Error("the two sides are not the two messages")
	}
	if !slices.Contains(minus, `"id": 1,`) || !slices.Contains(plus, `"id": 2,`) || !slices.Contains(plus, `"requestState": "[9 bytes]"`) || slices.Contains(minus, `"name": "t",`) {
		t.Errorf("%q %q", minus, plus)
	}
	// Beyond the table's bound the two stand one after the other, and nothing is lost.
	big := func(n int) *Message {
		var list []int
		for i := range 3000 {
			list = append(list, i*n)
		}
		raw, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return &Message{Raw: raw}
	}
	if n := len(Diff(big(7), big(11))); n < 5900 {
		t.Errorf("%d lines", n)
	}
}

// A variable is required where the address is none without it, and optional where it is left out with its operator.
func TestTemplateVariablesThatAreNeeded(t *testing.T) {
	it := ReadItem(json.RawMessage(`{"name":"t","uriTemplate":"x://{id}{+rest}{/path*}{.ext}{;p}{?q,id,n:3}{&r}{#f}"}`))
	got := map[bool][]string{}
	for _, a := range it.Arguments {
		got[a.Required] = append(got[a.Required], a.Name)
	}
	if fmt.Sprint(got) != "map[false:[rest path ext p q n r f] true:[id]]" {
		t.Error(got)
	}
}

func TestTemplates(t *testing.T) {
	values := map[string]string{"a": "x y", "b": "p/q?", "empty": "", "rate": "50% %f/%2F%"}
	for _, c := range []struct{ template, want string }{
		{"demo://{a}", "demo://x%20y"},
		{"demo://{+b}/z", "demo://p/q?/z"},
		{"demo://h{/a,b}", "demo://h/x%20y/p%2Fq%3F"},
		{"demo://h{?a,missing,b}", "demo://h?a=x%20y&b=p%2Fq%3F"},
		{"demo://h{#b}", "demo://h#p/q?"},
		{"demo://{missing}/x", "demo:///x"},
		{"demo://{a:3}{b*}", "demo://x%20yp%2Fq%3F"},
		{"demo://h;{;a,empty}", "demo://h;;a=x%20y;empty"},
		{"demo://h{?empty}{+rate}", "demo://h?empty=50%25%20%25f/%2F%25"},
		{"demo://{unclosed", "demo://{unclosed"},
		{"plain", "plain"},
	} {
		if got := ExpandTemplate(c.template, values); got != c.want {
			t.Errorf("%s: %s, want %s", c.template, got, c.want)
		}
	}
	if got := fmt.Sprint(TemplateVariables("x{a}{?b,a}{c*}")); got != "[a b c]" {
		t.Error(got)
	}
}

func TestSamplingAnswer(t *testing.T) {
	for _, c := range []struct{ in, want, wrong string }{
		{"Paris", `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"a person","stopReason":"endTurn"}`, ""},
		{" two\nlines ", `{"role":"assistant","content":{"type":"text","text":" two\nlines "},"model":"a person","stopReason":"endTurn"}`, ""},
		{`[1]`, `{"role":"assistant","content":{"type":"text","text":"[1]"},"model":"a person","stopReason":"endTurn"}`, ""},
		{` {"role":"assistant","content":[],"model":"m"} `, `{"role":"assistant","content":[],"model":"m"}`, ""},
		{`{"role":"assistant","content":[]}`, "", "model"},
		{`{oops`, "", "not JSON"},
		{`{"role":1,"role":2}`, "", "twice"},
		{"  ", "", "empty"},
	} {
		got, err := SamplingAnswer(c.in)
		if string(got) != c.want || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %s, %v", c.in, got, err)
		}
	}
}

func TestSamplingLines(t *testing.T) {
	s := ReadSampling(json.RawMessage(`{"systemPrompt":"be\u001b[31m brief","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"},{"type":"image","mimeType":"image/png","data":"AAAA"}]},{"role":7}],
		"modelPreferences":{"hints":[{"name":"small"},{"name":"fast"}],"costPriority":0.25},"maxTokens":5,"stopSequences":["X"],"tools":[{"name":"look","description":"looks"}],"toolChoice":{"mode":"auto"}}`))
	got := strings.Join(s.Lines(), "\n")
	for _, want := range []string{"user: a\n  b\n  [image image/png, 3 bytes]", "model: small, fast", "prefers: cost 0.25", "max tokens: 5", "stops at: X", "tool look: looks", `tool choice: {"mode":"auto"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("an escape came through")
	}
}

// tapped is a message as a Manager tells it.
func tapped(dir mcpmgr.Direction, id, method string, response bool, call uint64, leg int, raw string) mcpmgr.TapEvent {
	return mcpmgr.TapEvent{Time: time.Unix(1000, 0), Server: "s", Direction: dir, ID: id, Method: method, Response: response,
		Call: call, Leg: leg, Raw: json.RawMessage(raw), Size: len(raw), StateBytes: -1}
}

// Progress and cancellation belong to the leg that they are about, whatever order calls have.
func TestNotesBelongToTheirLegs(t *testing.T) {
	l := NewLog()
	l.Add(tapped(mcpmgr.Sent, "4", "tools/call", false, 1, 1, `{"params":{"name":"a"}}`))
	l.Add(tapped(mcpmgr.Sent, "5", "tools/call", false, 2, 1, `{"params":{"name":"b"}}`))
	p := l.Add(tapped(mcpmgr.Received, "", "notifications/progress", false, 0, 0, `{"params":{"progressToken":"leg-5","progress":1}}`))
	c := l.Add(tapped(mcpmgr.Sent, "", "notifications/cancelled", false, 0, 0, `{"params":{"requestId":4}}`))
	u := l.Add(tapped(mcpmgr.Received, "", "notifications/progress", false, 0, 0, `{"params":{"progressToken":"leg-99","progress":1}}`))
	if p.Call != 2 || c.Call != 1 || u.Call != 0 || !l.Conversations[0].Legs[0].Cancelled() || l.Conversations[1].Legs[0].Cancelled() {
		t.Errorf("%d %d %d", p.Call, c.Call, u.Call)
	}
	if l.Conversations[1].Name != "b" {
		t.Error(l.Conversations[1].Name)
	}
	late := l.Add(tapped(mcpmgr.Received, "4", "", true, 0, 0, `{"result":{}}`)) // nobody waits for it any more
	if late.Method != "tools/call" || l.Conversations[0].Legs[0].Reply != nil {
		t.Errorf("%q, %+v", late.Method, l.Conversations[0].Legs[0].Reply)
	}
}

// A Log keeps the newest texts and forgets conversations of which nothing is left.
func TestLogIsBounded(t *testing.T) {
	l := NewLog()
	l.maxKept, l.maxRaw, l.maxMessages = 64<<10, 8<<10, 200
	big := `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 4<<10) + `"}]}}`
	for i := range 40 {
		l.Add(tapped(mcpmgr.Received, fmt.Sprint(i), "tools/call", true, uint64(i+1), 1, big))
	}
	if l.kept > l.maxKept || l.Messages[0].Raw != nil || l.Messages[39].Raw == nil || l.Messages[0].Size != len(big) {
		t.Errorf("%d bytes are kept", l.kept)
	}
	if m := l.Add(tapped(mcpmgr.Received, "x", "tools/call", true, 99, 1, strings.Repeat(" ", l.maxRaw+1))); m.Raw != nil || m.Size != l.maxRaw+1 {
		t.Error("a text over the limit is kept")
	}
	l = NewLog()
	l.maxMessages = 200
	const all = 1005
	for i := range all {
		l.Add(tapped(mcpmgr.Sent, fmt.Sprint(i), "tools/call", false, uint64(i+1), 1, `{"params":{"name":"a"}}`))
	}
	if n := len(l.Messages); n < l.maxMessages || n > l.maxMessages*11/10 || len(l.Conversations) > n {
		t.Errorf("%d messages, %d conversations", n, len(l.Conversations))
	}
	sum := 0
	for _, m := range l.Messages {
		sum += len(m.Raw)
	}
	if sum != l.kept || l.Messages[len(l.Messages)-1].Seq != all {
		t.Errorf("%d bytes counted, %d kept", l.kept, sum)
	}
}

// A call can be made again when the text of its request is not kept any more, and when it was never sent.
func TestArgumentsOutliveTheirText(t *testing.T) {
	l := NewLog()
	l.Apply(Started{Run{ID: 1, Request: Request{Server: "s", Method: "tools/call", Name: "a", Arguments: json.RawMessage(`{"n":1}`)}}})
	c := l.OfRun(1)
	if got := string(c.Arguments()); got != `{"n":1}` || c.First() != nil {
		t.Errorf("not sent: %s", got)
	}
	l.Apply(Bound{1, 7})
	m := l.Add(tapped(mcpmgr.Sent, "4", "tools/call", false, 7, 1, `{"params":{"name":"a","arguments":{"n":1}}}`))
	m.Raw = nil
	if got := string(c.Arguments()); got != `{"n":1}` || c.First() != m {
		t.Errorf("not kept: %s", got)
	}
	l.Add(tapped(mcpmgr.Sent, "5", "tools/call", false, 8, 1, `{"params":{"name":"a","arguments":{"n":2}}}`))
	if got := string(l.Find("s", 8).Arguments()); got != `{"n":2}` {
		t.Errorf("of nobody here: %s", got)
	}
}

// Of a call that has ended its messages alone are kept, so that their bounds hold for all.
func TestLogKeepsNoResultTwice(t *testing.T) {
	l := NewLog()
	l.Apply(Started{Run{ID: 1}})
	raw := json.RawMessage(`{"content":[{"type":"text","text":"x"}],"structuredContent":{}}`)
	l.Apply(Ended{Run: 1, At: time.Unix(1, 0), Result: &mcpmgr.Result{Raw: raw, Content: []json.RawMessage{raw}, Structured: raw, IsError: true, Legs: 3, Forms: 2}})
	if r := l.OfRun(1).Run.Result; r.Raw != nil || r.Content != nil || r.Structured != nil || !r.IsError || r.Legs != 3 || r.Forms != 2 {
		t.Errorf("%+v", r)
	}
}

// What cannot be read is hidden as a whole, and nothing that is no answer is touched.
func TestRedaction(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"accept", `{"params":{"name":"t","arguments":{"a":"keep"},"inputResponses":{"k":{"action":"accept","content":{"word":"secret-1","n":12345,"l":["secret-2"]}}}}}`,
			`{"params":{"name":"t","arguments":{"a":"keep"},"inputResponses":{"k":{"action":"accept","content":{"word":"[redacted]","n":"[redacted]","l":"[redacted]"}}}}}`},
		{"decline", `{"params":{"inputResponses":{"k":{"action":"decline"}}}}`, `{"params":{"inputResponses":{"k":{"action":"decline"}}}}`},
		{"sampling", `{"params":{"inputResponses":{"s":{"role":"assistant","content":{"type":"text","text":"secret-3"},"model":"m"}}}}`,
			`{"params":{"inputResponses":{"s":{"role":"assistant","content":"[redacted]","model":"m"}}}}`},
		{"roots", `{"params":{"inputResponses":{"r":{"roots":[{"uri":"file:///home/me"}]}}}}`, `{"params":{"inputResponses":{"r":{"roots":"[redacted]"}}}}`},
		{"malformed", `{"params":{"inputResponses":["secret-4"]}}`, `{"params":{"inputResponses":"[redacted]"}}`},
		{"an answer that is no object", `{"params":{"inputResponses":{"k":"secret-5"}}}`, `{"params":{"inputResponses":{"k":"[redacted]"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLog()
			m := l.Add(tapped(mcpmgr.Sent, "2", "tools/call", false, 1, 2, c.in))
			if got := string(l.Redact(m)); got != c.want {
				t.Errorf("%s", got)
			}
		})
	}
	l := NewLog()
	before := l.Add(tapped(mcpmgr.Received, "1", "tools/call", true, 1, 1, `{"result":{"enum":["secret-1","b"]}}`))
	l.Add(tapped(mcpmgr.Sent, "2", "tools/call", false, 1, 2, `{"params":{"inputResponses":{"k":{"action":"accept","content":{"w":"secret-1","n":12345,"b":true,"s":"ab"}}}}}`))
	after := l.Add(tapped(mcpmgr.Received, "2", "tools/call", true, 1, 2, `{"result":{"t":"it was <secret-1>","n":12345,"m":123456,"b":true,"s":"ab","secret-1":1}}`))
	if got := string(l.Redact(before)); got != string(before.Raw) {
		t.Errorf("what came before the answer: %s", got)
	}
	if got := string(l.Redact(after)); got != `{"result":{"t":"it was <[redacted]>","n":"[redacted]","m":123456,"b":true,"s":"ab","secret-1":1}}` {
		t.Errorf("what came after the answer: %s", got)
	}
}

// Whatever a server nests, a message is redacted, set on lines and told in words with work that grows with its size.
func TestHostileNesting(t *testing.T) {
	const depth, size = 450, 2 << 20
	nest := func(open, inner, shut string) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(shut, depth)
	}
	long := strings.Repeat("x", size)
	for name, raw := range map[string]string{
		"lists":   nest("[", `"`+long+`"`, "]"),
		"objects": nest(`{"a":`, `"`+long+`"`, "}"),
		"values":  nest("[", strings.Repeat("0,", size/2)+"0", "]"),
		"blocks":  `[` + strings.Repeat(nest("[", strings.Repeat("0,", 4000)+"0", "]")+",", size>>13) + `0]`,
		"escapes": `"` + strings.Repeat(`\\\\u00fc`, size>>3) + `"`,
		"results": `[` + nest(`{"type":"tool_result","content":[`, `{"type":"text","text":"`+long+`"}`, "]}") + `]`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if got := replaceTexts(json.RawMessage(raw), []string{"marker", "12345"}); string(got) != raw {
				t.Error("changed")
			}
			if got := Pretty(json.RawMessage(raw)); len(got) > len(raw)+maxIndent {
				t.Errorf("%d bytes became %d", len(raw), len(got))
			}
			if got := ResultText("tools/call", json.RawMessage(`{"content":`+raw+`}`)); len(got) > 18*len(raw)+maxIndent {
				t.Errorf("%d bytes became %d", len(raw), len(got))
			}
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(raw)); n > 100 { // each level once more would be 450
				t.Errorf("the text was copied %d times", n)
			}
		})
	}
}

func TestReplaceTexts(t *testing.T) {
	given := []string{"secret", "12345", "true", `a"b`}
	for in, want := range map[string]string{
		`"secret"`:                    `"[redacted]"`,
		` 12345 `:                     ` "[redacted]" `,
		`[12345,123456,-12345,1]`:     `["[redacted]",123456,-12345,1]`,
		`{"secret":"a secret","x":1}`: `{"secret":"a [redacted]","x":1}`,
		`{"secret" : "secret" , "secret":["secret"]}`: `{"secret" : "[redacted]" , "secret":["[redacted]"]}`,
		`{"a":"\\\"","b":"secret"}`:                   `{"a":"\\\"","b":"[redacted]"}`,
		`[true,false,null]`:                           `["[redacted]",false,null]`,
		`"{\"k\":\"a\\\"b\"}"`:                        `"{\"k\":\"[redacted]\"}"`,
		`"\u0073ecret"`:                               `"[redacted]"`,
		`{"a":`:                                       `"[redacted]"`,
		`[12345.0,1.2345e4,12345.5,"12345.0"]`:        `["[redacted]","[redacted]",12345.5,"[redacted].0"]`,
	} {
		if got := string(replaceTexts(json.RawMessage(in), given)); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// An answer is found however the server's writer of JSON escapes it, in JSON within a text, and in JSON within that.
func TestReplaceEscapedTexts(t *testing.T) {
	given := []string{"<Zoë & \"Søn\"/😀>\n\\end", "naïve path", "über", "12345"}
	spelt := map[string]func(string) string{
		"Go":     func(s string) string { raw, _ := json.Marshal(s); return string(raw) },
		"plain":  func(s string) string { return string(quoted(s)) },
		"Python": func(s string) string { return ascii(s, `\u%04x`, false) },
		"PHP":    func(s string) string { return ascii(s, `\u%04x`, true) },
		"C#":     func(s string) string { return ascii(s, `\u%04X`, true) },
	}
	for first, one := range spelt {
		for second, two := range spelt {
			for _, g := range given {
				inner := `{"a":` + one(g) + `,"b":["x` + strings.Trim(one(g), `"`) + `y"]}`
				once, twice := two(inner), two(`{"t":`+one(inner)+`}`)
				for _, raw := range []string{one(g), once, twice} {
					got := string(replaceTexts(json.RawMessage(raw), given))
					if !json.Valid([]byte(got)) || !strings.Contains(got, redacted) {
						t.Errorf("%s in %s: %s became %s", first, second, raw, got)
					}
					for _, part := range []string{"Zo", "Søn", "end", "path", "ber", "12345"} {
						if strings.Contains(got, part) {
							t.Errorf("%s in %s: %q is left of %s: %s", first, second, part, raw, got)
						}
					}
				}
			}
		}
	}
	for in, want := range map[string]string{
		`"https://x/?q=na%C3%AFve%20path&r=1%202"`: `"https://x/?q=[redacted]&r=1%202"`,
		`"q=na%c3%afve+path+x"`:                    `"q=[redacted]+x"`,
		`"100% of \\u00fcber, \\x \\u12 \\"`:       `"100% of [redacted], \\x \\u12 \\"`,
		`"\\ud83d \\ude00 \\\\u00FCber"`:           `"\\ud83d \\ude00 [redacted]"`,
		`"über12345über"`:                          `"[redacted][redacted][redacted]"`,
	} {
		if got := string(replaceTexts(json.RawMessage(in), given)); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	if got := string(replaceTexts(json.RawMessage(`"one two three"`), []string{"two three", "one two"})); got != `"[redacted]"` {
		t.Errorf("texts that overlap: %s", got)
	}
}

// ascii writes a JSON string as writers do that leave no other letter in it.
func ascii(s, format string, slash bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || slash && r == '/':
			b.WriteString(`\` + string(r))
		case r < ' ' && r != '\n' || r > '~' || slash && strings.ContainsRune("<>&", r):
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, format, u)
			}
		case r == '\n':
			b.WriteString(`\n`)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"params":{"inputResponses":{"k":{"action":"accept","content":{"w":"x"}}}}}`, true)
	f.Add(`{"result":[1,"a",{"b":null}]}`, false)
	f.Fuzz(func(t *testing.T, raw string, sent bool) {
		l := NewLog()
		dir := mcpmgr.Received
		if sent {
			dir = mcpmgr.Sent
		}
		l.Add(tapped(mcpmgr.Sent, "1", "tools/call", false, 1, 2, `{"params":{"inputResponses":{"k":{"action":"accept","content":{"w":"marker"}}}}}`))
		m := l.Add(tapped(dir, "1", "tools/call", !sent, 1, 2, raw))
		out := l.Redact(m)
		if json.Valid([]byte(raw)) && !json.Valid(out) {
			t.Fatalf("%s became %s", raw, out)
		}
	})
}
