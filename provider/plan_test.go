package provider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"askback/hostclient"
	"askback/protocol"

	"pgregory.net/rapid"
)

func tool(server, name string) ToolInfo {
	return ToolInfo{Server: server, Name: name, Description: "Does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
}

// acceptable holds a plan to what a Host accepts.
func acceptable(t interface {
	Helper()
	Fatalf(string, ...any)
}, plan Plan) {
	t.Helper()
	if len(plan.Offers) == 0 {
		return
	}
	req := &protocol.Request{RequestID: "r", Input: &protocol.CapabilityReplaceInput{RegistrationID: "g", Offers: plan.Offers}}
	data, err := protocol.Encode(req, protocol.Dialect81)
	if err != nil {
		t.Fatalf("not acceptable: %v", err)
	}
	if _, err := protocol.DecodeClientFrame(data, protocol.Dialect81); err != nil {
		t.Fatalf("not acceptable to a Host: %v", err)
	}
}

func names(offers []hostclient.Offer) (out []string) {
	for _, o := range offers {
		for _, t := range o.Tools {
			out = append(out, o.OfferID+":"+t.ServerID+"/"+t.Name)
		}
	}
	return out
}

func reasons(plan Plan) string {
	var out []string
	for _, l := range plan.LeftOut {
		out = append(out, l.String())
	}
	return strings.Join(out, "\n")
}

func TestPlanKeepsOrder(t *testing.T) {
	plan := NewPlan([]ToolInfo{tool("b", "z"), tool("b", "a"), tool("a", "x")}, "askback")
	acceptable(t, plan)
	if got := fmt.Sprint(names(plan.Offers)); got != "[b:b/z b:b/a a:a/x]" {
		t.Error(got)
	}
	o := plan.Offers[0]
	if o.Label != "askback" || o.Affinity != "session" || o.HostPathAccess != "none" || o.Version == "" {
		t.Errorf("%+v", o)
	}
	if plan.LeftOut != nil {
		t.Error(reasons(plan))
	}
}

func TestPlanLimits(t *testing.T) {
	var many []ToolInfo
	for i := range 1000 {
		many = append(many, tool("big", fmt.Sprint("t", i)))
	}
	plan := NewPlan(many, "askback")
	acceptable(t, plan)
	if len(plan.Tools) != 256 || len(plan.LeftOut) != 744 || len(plan.Offers) != 4 {
		t.Errorf("%d tools in %d offers, %d left out", len(plan.Tools), len(plan.Offers), len(plan.LeftOut))
	}
	if got := plan.LeftOut[0].String(); got != "big/t256 is not offered: only 256 tools fit" {
		t.Error(got)
	}

	var servers []ToolInfo
	for i := range 40 {
		servers = append(servers, tool(fmt.Sprint("s", i), "t"))
	}
	plan = NewPlan(servers, "askback")
	acceptable(t, plan)
	if len(plan.Offers) != 32 || len(plan.LeftOut) != 8 || !strings.Contains(reasons(plan), "s32/t is not offered: only 32 groups of tools fit") {
		t.Error(reasons(plan))
	}

	large := tool("s", "large")
	large.Description = strings.Repeat("é", 8000)
	plan = NewPlan([]ToolInfo{large, named(large, "l2"), named(large, "l3"), named(large, "l4"), tool("s", "small")}, "askback")
	acceptable(t, plan)
	if got := fmt.Sprint(names(plan.Offers)); got != "[s:s/large s:s/l2 s:s/l3 s:s/small]" {
		t.Error(got)
	}
	if got := reasons(plan); got != "s/l4 is not offered: the offers would be larger than 56 KiB" {
		t.Error(got)
	}

	long := tool("s", strings.Repeat("n", 129))
	plan = NewPlan([]ToolInfo{long, tool("s", ""), tool("s", "ok")}, "askback")
	acceptable(t, plan)
	if len(plan.Tools) != 1 || len(plan.LeftOut) != 2 {
		t.Error(reasons(plan))
	}
}

func named(t ToolInfo, name string) ToolInfo {
	t.Name = name
	return t
}

func TestPlanCollisions(t *testing.T) {
	plan := NewPlan([]ToolInfo{tool("s", "a.b"), tool("s", "a_b"), tool("s", "a.b"), tool("s", "c"), tool("s.x", "y"), tool("s_x", "z"), tool("s_x", "y")}, "askback")
	acceptable(t, plan)
	if got := fmt.Sprint(names(plan.Offers)); got != "[s:s/a.b s:s/c s_x:s.x/y s_x-2:s_x/z]" {
		t.Error(got)
	}
	want := "s/a_b is not offered: a model could not tell its name from that of s/a.b\n" +
		"s/a.b is not offered: its server lists it twice\n" +
		"s_x/y is not offered: a model could not tell its name from that of s.x/y"
	if got := reasons(plan); got != want {
		t.Error(got)
	}
}

func TestPlanOfferIDsOfOtherServersAreKept(t *testing.T) {
	var tools []ToolInfo
	for i := range 65 {
		tools = append(tools, tool("a", fmt.Sprint("t", i)))
	}
	plan := NewPlan(append(tools, tool("a-2", "x")), "askback")
	acceptable(t, plan)
	var ids []string
	for _, o := range plan.Offers {
		ids = append(ids, o.OfferID)
	}
	if got := fmt.Sprint(ids); got != "[a a-3 a-2]" {
		t.Error(got)
	}
}

func TestPlanSchemas(t *testing.T) {
	withSchema := func(name, schema string) ToolInfo {
		i := tool("s", name)
		i.InputSchema = json.RawMessage(schema)
		return i
	}
	plan := NewPlan([]ToolInfo{
		withSchema("stripped", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","if":{}}`),
		withSchema("remote", `{"type":"object","properties":{"a":{"$ref":"https://example.org/x"}}}`),
		withSchema("nothing", ``),
		withSchema("string", `{"type":"string"}`),
		withSchema("large", `{"type":"object","description":"`+strings.Repeat("x", 33<<10)+`"}`),
		withSchema("last", `{"type":"object"}`),
	}, "askback")
	acceptable(t, plan)
	if got := fmt.Sprint(names(plan.Offers)); got != "[s:s/stripped s:s/last]" {
		t.Error(got)
	}
	for _, l := range plan.LeftOut {
		if !strings.HasPrefix(l.Reason, "its input schema cannot be offered: ") {
			t.Error(l)
		}
	}
}

func TestPlanAnnotations(t *testing.T) {
	i := tool("s", "t")
	i.Annotations = json.RawMessage(`{"title":"T","readOnlyHint":false,"destructiveHint":true,"idempotentHint":"yes","other":1}`)
	a := NewPlan([]ToolInfo{i}, "l").Offers[0].Tools[0].Annotations
	if a.Title != "T" || a.ReadOnlyHint == nil || *a.ReadOnlyHint || !*a.DestructiveHint || a.IdempotentHint != nil || a.OpenWorldHint != nil {
		t.Errorf("%+v", a)
	}
	i.Title = "Its own"
	if a := NewPlan([]ToolInfo{i}, "l").Offers[0].Tools[0].Annotations; a.Title != "Its own" {
		t.Errorf("%+v", a)
	}
	i.Title, i.Annotations = "", json.RawMessage(`not JSON`)
	if a := NewPlan([]ToolInfo{i}, "l").Offers[0].Tools[0].Annotations; a != nil {
		t.Errorf("%+v", a)
	}
}

// TestPlanAlwaysAcceptable makes plans of any tools and holds them to a Host's
// rules; each tool is either offered or named, in order.
func TestPlanAlwaysAcceptable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[a-c._-]{0,3}`), rapid.String())
		schema := rapid.SampledFrom([]string{`{"type":"object"}`, `{}`, `7`, `{"type":"object","not":{}}`, `{"properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","description":"` + strings.Repeat("d", 9000) + `"}`})
		tools := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ToolInfo {
			return ToolInfo{
				Server: rapid.StringMatching(`[a-b._]{1,2}`).Draw(t, "server"), Name: name.Draw(t, "name"),
				Title: rapid.String().Draw(t, "title"), Description: strings.Repeat(rapid.String().Draw(t, "d"), rapid.IntRange(0, 900).Draw(t, "n")),
				InputSchema: json.RawMessage(schema.Draw(t, "schema")),
			}
		}), 0, 40).Draw(t, "tools")
		plan := NewPlan(tools, rapid.StringN(1, 200, -1).Draw(t, "label"))
		acceptable(t, plan)
		if len(plan.Tools)+len(plan.LeftOut) != len(tools) || len(names(plan.Offers)) != len(plan.Tools) {
			t.Fatalf("%d offered, %d left out of %d", len(plan.Tools), len(plan.LeftOut), len(tools))
		}
	})
}

func TestPlanIsQuick(t *testing.T) {
	tools := thousand()
	best := time.Hour
	for range 5 {
		start := time.Now()
		NewPlan(tools, "askback")
		best = min(best, time.Since(start))
	}
	if best > 50*time.Millisecond {
		t.Errorf("a thousand tools took %v", best)
	}
}

func thousand() (tools []ToolInfo) {
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}}}`
	for i := range 1000 {
		t := tool("server", fmt.Sprint("tool_", i))
		t.Description, t.InputSchema = "Does it.", json.RawMessage(schema)
		tools = append(tools, t)
	}
	return tools
}

func BenchmarkPlanThousandTools(b *testing.B) {
	tools := thousand()
	b.ReportAllocs()
	for b.Loop() {
		if plan := NewPlan(tools, "askback"); len(plan.Tools) != 256 || len(plan.LeftOut) != 744 {
			b.Fatal(len(plan.Tools))
		}
	}
}

// TestHintsBesideCutTitle: a title that was cut within a character takes no hint along.
func TestHintsBesideCutTitle(t *testing.T) {
	a := annotationsOf(ToolInfo{Annotations: []byte(`{"title":"x\ud83d","destructiveHint":false}`)})
	if a == nil || a.Title != "x\ufffd" || a.DestructiveHint == nil || *a.DestructiveHint {
		t.Errorf("%+v", a)
	}
}
