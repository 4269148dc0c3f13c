package lint

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file beside the input.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\n%s\nwant\n%s", path, got, want)
	}
}

func readFile(t *testing.T, path string) *Report {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGolden prints the example of the RFC, a form of each kind, and ten
// refused ones, for people and as JSON.
func TestGolden(t *testing.T) {
	accepted, _ := filepath.Glob("testdata/*.json")
	refused, _ := filepath.Glob("testdata/refused/*.json")
	if len(accepted) < 2 || len(refused) != 10 {
		t.Fatalf("%d accepted, %d refused", len(accepted), len(refused))
	}
	for i, path := range append(accepted, refused...) {
		name := strings.TrimSuffix(path, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			r := readFile(t, path)
			if want := i < len(accepted); r.OK() != want {
				t.Errorf("OK is %v, want %v", r.OK(), want)
			}
			golden(t, name+".txt", r.Text())
			golden(t, name+".out", indent(t, r.JSON()))
		})
	}
}

func indent(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if strings.ContainsAny(string(raw), "\n") {
		t.Error("the JSON has line breaks")
	}
	out, _ := json.MarshalIndent(v, "", "  ")
	return string(out) + "\n"
}

func TestJSONShapes(t *testing.T) {
	const field = `"a":{"type":"string","title":"A","minimum":1,"maxLength":4}`
	schema := func(props string) string { return `{"type":"object","properties":{` + props + `}}` }
	form := `{"message":"m","requester":{"name":"lint"},"fields":[{"kind":"string","name":"a","label":"A","required":false,"maxLength":4}]}`
	read := `{"form":` + form + `,"ignored":[{"field":"a","keyword":"minimum"}],"warnings":[]}`
	pattern := `{"field":"a","keyword":"pattern","message":"constrains the answer in a way that a form cannot check; leave it out or check it in the tool"}`
	entry := func(props string) string {
		return `{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + schema(props) + `}}`
	}
	for _, tc := range []struct{ name, in, want string }{
		{"params", `{"message":"m","requestedSchema":` + schema(field) + `}`, read},
		{"bare schema", `{"type":"object","description":"m","properties":{` + field + `}}`, read},
		{"bare schema without words", schema(``), `{"form":{"message":"The tool \"lint\" asks for your consent.","requester":{"name":"lint"},"fields":[]},"ignored":[],"warnings":[]}`},
		{"refused", `{"message":"m","requestedSchema":` + schema(`"a":{"type":"string","pattern":"x"}`) + `}`, `{"error":` + pattern + `,"errors":[` + pattern + `]}`},
		{"root keyword", `{"type":"object","minProperties":1}`, `{"error":{"keyword":"minProperties","message":"constrains the answer as a whole, which a form cannot check; leave it out or check it in the tool"},"errors":[{"keyword":"minProperties","message":"constrains the answer as a whole, which a form cannot check; leave it out or check it in the tool"}]}`},
		{"root ignored", `{"type":"object","description":"m","properties":{},"minLength":1}`, `{"form":{"message":"m","requester":{"name":"lint"},"fields":[]},"ignored":[{"keyword":"minLength"}],"warnings":[]}`},
		{"result", `{"resultType":"input_required","inputRequests":{"z":` + entry(field) + `,"":` + entry(`"a":{"type":"string","pattern":"x"}`) + `}}`,
			`{"requests":[{"key":"z",` + read[1:] + `,{"key":"","error":` + pattern + `,"errors":[` + pattern + `]}]}`},
		{"empty result", `{"resultType":"input_required","inputRequests":{},"requestState":""}`, `{"requests":[]}`},
		{"result without its type", `{"inputRequests":{"z":` + entry(``) + `}}`, `{"requests":[{"key":"z","form":{"message":"m","requester":{"name":"lint"},"fields":[]},"ignored":[],"warnings":[{"message":"resultType is not \"input_required\"; a client takes the result as complete and asks nothing"}]}]}`},
		{"duplicate key is a refusal", `{"type":"object","type":"object"}`, `{"error":{"keyword":"type","message":"key \"type\" stands twice"},"errors":[{"keyword":"type","message":"key \"type\" stands twice"}]}`},
		{"not an object", `5`, `{"error":{"message":"the schema must be an object"},"errors":[{"message":"the schema must be an object"}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Read([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.JSON()); got != tc.want {
				t.Errorf("JSON\n%s\nwant\n%s", got, tc.want)
			}
			if r.Text() == "" || !strings.HasSuffix(r.Text(), "\n") {
				t.Errorf("text %q", r.Text())
			}
		})
	}
}

// TestRefusalsNamePlaces: what is wrong with the JSON, or too large in all, is
// told with the property and the keyword, too.
func TestRefusalsNamePlaces(t *testing.T) {
	described := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"f` + strings.Repeat("i", i) + `":{"type":"string","title":"F","description":"` + strings.Repeat("d", size) + `"}`)
		}
		return `"requestedSchema":{"type":"object","properties":{` + b.String()[1:] + `}}`
	}
	x := strings.Repeat("x", 9000)
	schema := `"requestedSchema":{"type":"object","properties":{}}`
	result := func(params string) string {
		return `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + params + `}}}`
	}
	for _, tc := range []struct{ name, in, field, keyword, says string }{
		{"long message", `{"message":"` + x[:8193] + `",` + schema + `}`, "", "message", "the message is 8193 bytes, at most 8192 are allowed"},
		{"long description for an empty message", `{"message":"","requestedSchema":{"type":"object","description":"` + x + `","properties":{}}}`, "", "description", "stands in for the message, which is missing or empty; the message is 9000 bytes"},
		{"long title of a bare schema", `{"type":"object","title":"` + x + `","properties":{}}`, "", "title", "stands in for the message"},
		{"many long descriptions", `{"message":"m",` + described(32, 512) + `}`, "f" + strings.Repeat("i", 31), "description", "is the largest part, 617 bytes, of the form, which is 19334 bytes"},
		{"a message that leaves no room", `{"message":"` + strings.Repeat(`\"`, 8190) + `",` + described(1, 20) + `}`, "", "message", "the message is the largest part"},
		{"duplicate keyword", `{"type":"object","properties":{"a":{"title":"A","title":"B"}}}`, "a", "title", `key "title" stands twice`},
		{"duplicate keyword in params", `{"message":"m","requestedSchema":{"properties":{"a":{"title":"A","title":"B"}}}}`, "a", "title", `key "title" stands twice`},
		{"duplicate keyword in a result", result(`{"requestedSchema":{"properties":{"a":{"title":"A","title":"B"}}}}`), "a", "title", `inputRequests.k.params.requestedSchema.properties.a: key "title" stands twice`},
		{"duplicate request", `{"inputRequests":{"k":1,"k":2}}`, "", "inputRequests", `inputRequests: key "k" stands twice`},
		{"half a surrogate pair", `{"type":"object","properties":{"a":{"enum":["\ud800"]}}}`, "a", "enum", "properties.a.enum[0]: holds half of a surrogate pair"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Read([]byte(tc.in))
			if err != nil || r.OK() {
				t.Fatalf("%v\n%s", err, r.Text())
			}
			e := r.Requests[0].Errors[0]
			if e.Field != tc.field || e.Keyword != tc.keyword || !strings.Contains(e.Message, tc.says) {
				t.Errorf("%q %q %s", e.Field, e.Keyword, e.Message)
			}
		})
	}
}

func TestNotJSON(t *testing.T) {
	for _, in := range []string{``, `{`, `{} {}`, `hello`, `{"a":}`} {
		if _, err := Read([]byte(in)); !errors.Is(err, ErrNotJSON) {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, want := range map[string]string{
		``:                              "the input is not JSON: there is no value",
		`{`:                             "the input is not JSON: it ends too early (byte 1)",
		`{"a":1} x`:                     "the input is not JSON: more text follows the value (byte 7)",
		"{\"a\":1,\n \"ä\":{\"b\":+1}}": "the input is not JSON (line 2, column 11, at \"ä\".b)",
		"{\n}\n,":                       "the input is not JSON: more text follows the value (line 2, column 2)",
		"\ufeff{}":                      "the input is not JSON: it begins with a byte order mark",
	} {
		if _, err := Read([]byte(in)); err.Error() != want {
			t.Errorf("%q says %q, want %q", in, err, want)
		}
	}
}

func TestResultProblems(t *testing.T) {
	entry := `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`
	var many []string
	for _, k := range strings.Split("a b c d e f g h i", " ") {
		many = append(many, `"`+k+`":`+entry)
	}
	for _, tc := range []struct{ name, in, says string }{
		{"requests list", `{"inputRequests":[]}`, "must be an object"},
		{"nine requests", `{"inputRequests":{` + strings.Join(many, ",") + `}}`, "holds 9 requests, at most 8"},
		{"too large together", `{"inputRequests":{"a":{"x":"` + strings.Repeat("x", 65<<10) + `"}}}`, "at most 65536"},
		{"state number", `{"inputRequests":{},"requestState":5}`, "must be a string"},
		{"state too large", `{"inputRequests":{},"requestState":"` + strings.Repeat("x", 17<<10) + `"}`, "at most 16384"},
		{"state in a form", `{"inputRequests":{"a":` + strings.Replace(entry, `"m"`, `"see opaque-server-state"`, 1) + `},"requestState":"opaque-server-state"}`, "stands in the form"},
		{"state in a form, spelt otherwise", `{"inputRequests":{"a":` + strings.Replace(entry, `"m"`, `"see opaque-server-state"`, 1) + `},"requestState":"\u006fpaque-server-state"}`, "stands in the form"},
		{"entry no object", `{"inputRequests":{"a":1}}`, "must be an object with method and params"},
		{"roots", `{"inputRequests":{"a":{"method":"roots/list"}}}`, `must be "elicitation/create"`},
		{"no params", `{"inputRequests":{"a":{"method":"elicitation/create"}}}`, "must be an object"},
		{"url mode", `{"inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}}}}`, `only "form" can be shown`},
		{"no schema", `{"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m"}}}}`, "is missing"},
		{"a request by itself", entry, "this looks like a request"},
		{"params of URL mode", `{"mode":"url","message":"m","url":"https://example.org","elicitationId":"1"}`, "params of URL mode"},
		{"params without a schema", `{"message":"m"}`, "params without requestedSchema"},
		{"a tool", `{"name":"t","inputSchema":{"type":"object"}}`, "this looks like a tool"},
		{"a result with state alone", `{"resultType":"input_required","requestState":"s"}`, "which asks nothing"},
		{"a final result", `{"content":[]}`, "which asks nothing"},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, "this looks like a response"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Read([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if r.OK() || !strings.Contains(r.Text(), tc.says) || !strings.Contains(string(r.JSON()), `"errors":[`) {
				t.Errorf("OK %v\n%s\n%s", r.OK(), r.Text(), r.JSON())
			}
		})
	}
	for name, state := range map[string]string{"16 KiB": strings.Repeat("x", 16<<10), "16 KiB in escapes": strings.Repeat(`\u0001`, 16<<10), "a word": "m"} {
		in := `{"resultType":"input_required","inputRequests":{"a":` + entry + `},"requestState":"` + state + `"}`
		if r, err := Read([]byte(in)); err != nil || !r.OK() {
			t.Errorf("a state of %s: %v", name, err)
		}
	}
	lone := `{"resultType":"input_required","inputRequests":{"a":` + entry + `},"requestState":"\ud800"}`
	if r, err := Read([]byte(lone)); err != nil || !r.OK() {
		t.Errorf("a state may hold lone surrogates: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for _, tc := range []struct{ name, in, field, says string }{
		{"secret", `{"type":"object","properties":{"api_key":{"type":"string","title":"API key"}}}`, "api_key", "looks like a secret"},
		{"secret in the message", `{"message":"Please enter your password below","requestedSchema":{"type":"object","properties":{"v":{"type":"string","title":"V"}}}}`, "", "sounds as if it asked for a secret; a form must not"},
		{"link in the message", `{"message":"see https://x.example/y","requestedSchema":{"type":"object"}}`, "", "the message holds a link"},
		{"link in a field", `{"type":"object","properties":{"a":{"type":"string","title":"A","description":"see www.example.org"}}}`, "a", "a text with a link"},
		{"missing title", `{"type":"object","properties":{"a":{"type":"string"}}}`, "a", "has no title"},
		{"hidden characters", `{"type":"object","properties":{"a":{"type":"string","title":"A\u200b"}}}`, "a", "shown as escapes"},
		{"hidden in an option", `{"type":"object","properties":{"a":{"title":"A","oneOf":[{"const":"a","title":"A\u202e"}]}}}`, "a", "shown as escapes"},
		{"escape in the message", `{"message":"a\u001b[2J","requestedSchema":{"type":"object"}}`, "", "the message holds characters"},
		{"dropped default", `{"type":"object","properties":{"a":{"type":"integer","title":"A","minimum":10,"default":5}}}`, "a", "a default that is not used: must be at least 10"},
		{"option ruled out", `{"type":"object","properties":{"b":{"title":"B","maxLength":3,"enum":["abc","abcd"]}}}`, "b", `rule out, which are left out: "abcd"`},
		{"option without a title", `{"type":"object","properties":{"b":{"title":"B","oneOf":[{"const":"a"}]}}}`, "b", `options without a title, which are shown by their value: "a"`},
		{"smaller Hosts", `{"type":"object","properties":{"a":{"title":"A","enum":["x"` + options(99) + `]}}}`, "", "a Host with smaller limits refuses it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Read([]byte(tc.in))
			if err != nil || !r.OK() {
				t.Fatalf("%v\n%s", err, r.Text())
			}
			for _, w := range r.Requests[0].Warnings {
				if w.Field == tc.field && strings.Contains(w.Message, tc.says) {
					return
				}
			}
			t.Errorf("warnings %+v, want %q about %q", r.Requests[0].Warnings, tc.says, tc.field)
		})
	}
}

func options(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"o` + strings.Repeat("x", i) + `"`)
	}
	return b.String()
}

func TestAnswers(t *testing.T) {
	single := `{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","title":"N","maximum":5}},"required":["n"]}}`
	entry := `{"method":"elicitation/create","params":` + single + `}`
	double := `{"resultType":"input_required","inputRequests":{"a":` + entry + `,"b":` + entry + `}}`
	fits := `{"action":"accept","values":{"n":5}}`
	for _, tc := range []struct {
		name, in, answer, want string
	}{
		{"fits", single, fits, `{"ok":true}`},
		{"declines", single, `{"action":"decline"}`, `{"ok":true}`},
		{"array of one", single, `[` + fits + `]`, `{"ok":true}`},
		{"wrong", single, `{"action":"accept","values":{"n":6,"x":1}}`, `{"ok":false,"errors":[{"field":"n","rule":"maximum","message":"must be at most 5"},{"field":"x","rule":"unknown","message":"is not a field of this form"}]}`},
		{"missing", single, `{"action":"accept","values":{}}`, `{"ok":false,"errors":[{"field":"n","rule":"required","message":"is required"}]}`},
		{"malformed", single, `{"action":"ok"}`, `{"ok":false,"errors":[{"field":"","rule":"malformed","message":"action: must be \"accept\", \"decline\" or \"cancel\""}]}`},
		{"content as MCP has it", single, `{"action":"accept","content":{}}`, `{"ok":false,"errors":[{"field":"","rule":"malformed","message":"the answer: key \"values\" is missing; an answer is {\"action\":\"accept\",\"values\":{…}}, {\"action\":\"decline\"} or {\"action\":\"cancel\"}"}]}`},
		{"malformed key", single, `{"action":"decline","x":1}`, `{"ok":false,"errors":[{"field":"","rule":"malformed","message":"the answer: unknown key \"x\""}]}`},
		{"of a result", double, `[` + fits + `,{"action":"accept","values":{}}]`, `{"requests":[{"key":"a","ok":true},{"key":"b","ok":false,"errors":[{"field":"n","rule":"required","message":"is required"}]}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Read([]byte(tc.in))
			if err != nil || !r.OK() {
				t.Fatal(err)
			}
			answers, err := r.CheckAnswers([]byte(tc.answer))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.AnswersJSON(answers)); got != tc.want {
				t.Errorf("JSON\n%s\nwant\n%s", got, tc.want)
			}
			ok := !strings.Contains(tc.want, `"ok":false`)
			if AnswersOK(answers) != ok {
				t.Errorf("OK %v\n%s", AnswersOK(answers), r.AnswersJSON(answers))
			}
		})
	}
	r, _ := Read([]byte(double))
	if _, err := r.CheckAnswers([]byte(fits)); err == nil || errors.Is(err, ErrNotJSON) {
		t.Errorf("one answer for two forms: %v", err)
	}
	if _, err := r.CheckAnswers([]byte(`{`)); !errors.Is(err, ErrNotJSON) {
		t.Errorf("no JSON: %v", err)
	}
}

// TestTextIsSafe: nothing of a hostile input reaches the terminal raw.
func TestTextIsSafe(t *testing.T) {
	esc := `\u001b[2J\u202e`
	for _, in := range []string{
		`{"message":"` + esc + `","requestedSchema":{"type":"object","properties":{"` + esc + `":{"type":"string","title":"` + esc + `","description":"` + esc + `","` + esc + `":1,"enum":["` + `a` + `"],"format":"` + esc + `"}}}}`,
		`{"type":"object","properties":{"` + esc + `":{"type":"` + esc + `"}},"required":["` + esc + `"],"` + esc + `":1}`,
		`{"inputRequests":{"` + esc + `":{"method":"` + esc + `"}}}`,
	} {
		r, err := Read([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Text(); strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%q", text)
		}
	}
}
