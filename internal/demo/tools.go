package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type tool struct {
	name, title, description string
	schema                   string
	annotations              *mcp.ToolAnnotations
	run                      handler
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

var tools = []tool{
	{name: "deploy", title: "Deploy", description: "Deploys an artifact, after asking where to and whether you are sure.",
		schema: `{"type":"object","properties":{"artifact":{"type":"string","title":"Artifact","description":"What to deploy, for example build-42.","minLength":1,"maxLength":200}},"required":["artifact"],"additionalProperties":false}`,
		run:    deploy},
	{name: "survey", title: "Survey", description: "Asks one form with every kind of field, required and optional, with and without defaults.",
		schema: noArguments, annotations: readOnly, run: survey},
	{name: "wizard", title: "Wizard", description: "Asks two forms, one after the other; the second depends on the first.",
		schema: noArguments, annotations: readOnly, run: wizard},
	{name: "pair", title: "Pair", description: "Asks two forms in one round.",
		schema: noArguments, annotations: readOnly, run: pair},
	{name: "confirm", title: "Confirm", description: "Asks for consent alone: a form without fields.",
		schema: noArguments, annotations: readOnly, run: confirm},
	{name: "wait", title: "Wait", description: "Is not done yet for a few rounds, then it is. Asks nothing.",
		schema: `{"type":"object","properties":{"rounds":{"type":"integer","title":"Rounds","minimum":1,"maximum":31,"default":3}},"additionalProperties":false}`, annotations: readOnly, run: wait},
	{name: "never", title: "Never", description: "Is never done: the client's round limit ends the call.",
		schema: noArguments, annotations: readOnly, run: never},
	{name: "plain", title: "Plain", description: "Answers at once, without a form.",
		schema: `{"type":"object","properties":{"text":{"type":"string","title":"Text","default":"hello"}},"additionalProperties":false}`, annotations: readOnly, run: plain},
	{name: "slow", title: "Slow", description: "Takes some seconds and says how far it is.",
		schema: `{"type":"object","properties":{"steps":{"type":"integer","title":"Steps","minimum":1,"maximum":100,"default":5},"every":{"type":"integer","title":"Milliseconds a step","minimum":1,"maximum":10000,"default":600}},"additionalProperties":false}`, annotations: readOnly, run: slow},
}

func (c *call) arguments(v any) error {
	if len(c.args) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.args, v); err != nil {
		return &jsonrpc.Error{Code: codeInvalidParams, Message: fmt.Sprintf("arguments of %s: %v", c.name, err)}
	}
	return nil
}

func deploy(_ context.Context, c *call) (*reply, error) {
	var in struct{ Artifact string }
	if err := c.arguments(&in); err != nil {
		return nil, err
	}
	if in.Artifact == "" {
		return done(failure(`deploy needs an artifact, for example {"artifact":"build-42"}`))
	}
	a := c.answer("target")
	if a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("target", "Choose the deployment target",
			`{"type":"object","properties":{"environment":{"type":"string","enum":["staging","production"]},"confirm":{"type":"boolean"}},"required":["environment","confirm"]}`)}}, nil
	}
	switch a.Action {
	case "accept":
		if a.Content["confirm"] != true {
			return done(failure(fmt.Sprintf("Deployment of %s to %v was not confirmed: nothing was deployed.", in.Artifact, a.Content["environment"])))
		}
		return done(text(fmt.Sprintf("Deployed %s to %v.", in.Artifact, a.Content["environment"])))
	case "decline":
		return done(failure(fmt.Sprintf("Deployment of %s was declined: nothing was deployed.", in.Artifact)))
	}
	return done(failure(fmt.Sprintf("Deployment of %s was dismissed (%s): nothing was decided.", in.Artifact, a.Action)))
}

const surveySchema = `{"type":"object","properties":{
"name":{"type":"string","title":"Your name","minLength":1,"maxLength":60},
"email":{"type":"string","title":"Email","description":"Where we may write to.","format":"email"},
"motto":{"type":"string","title":"Motto","default":"ask before you act","maxLength":80},
"age":{"type":"integer","title":"Age","minimum":0,"maximum":150},
"seats":{"type":"integer","title":"Seats","minimum":1,"maximum":8,"default":2},
"rating":{"type":"number","title":"Rating","description":"0 to 5, halves are fine.","minimum":0,"maximum":5},
"start":{"type":"string","title":"Start","format":"date"},
"newsletter":{"type":"boolean","title":"Newsletter","default":false},
"rules":{"type":"boolean","title":"Rules read"},
"colour":{"type":"string","title":"Colour","oneOf":[{"const":"#d00","title":"Red"},{"const":"#0a0","title":"Green"},{"const":"#00d","title":"Blue"}]},
"size":{"type":"string","title":"Size","enum":["S","M","L"],"default":"M"},
"days":{"type":"array","title":"Days","description":"One or two of them.","items":{"anyOf":[{"const":"mo","title":"Monday"},{"const":"we","title":"Wednesday"},{"const":"fr","title":"Friday"}]},"minItems":1,"maxItems":2},
"extras":{"type":"array","title":"Extras","items":{"type":"string","enum":["lunch","parking","recording"]},"default":["lunch"]}
},"required":["name","rules","colour","seats","days"]}`

func survey(_ context.Context, c *call) (*reply, error) {
	a := c.answer("survey")
	if a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("survey", "A few questions, one of every kind.", surveySchema)}}, nil
	}
	if a.Action != "accept" {
		return done(failure("The survey was not filled in: " + a.Action + "."))
	}
	j, err := json.Marshal(a.Content)
	if err != nil {
		return nil, err
	}
	r := text("Thank you. Received: " + string(j))
	r.StructuredContent = json.RawMessage(j)
	return done(r)
}

func wizard(_ context.Context, c *call) (*reply, error) {
	switch c.step {
	case 0:
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("project", "Step 1 of 2: what is it?",
			`{"type":"object","properties":{"name":{"type":"string","title":"Project name","minLength":1,"maxLength":40},"kind":{"type":"string","title":"Kind","enum":["library","service"]}},"required":["name","kind"]}`)}}, nil
	case 1:
		return wizardSecond(c)
	}
	a := c.answer("details")
	if a == nil || a.Action != "accept" {
		return done(failure("The wizard stopped at its second step."))
	}
	var first map[string]any
	if err := json.Unmarshal(c.data, &first); err != nil {
		return nil, err
	}
	return done(text(fmt.Sprintf("Created the %v %v on port %v.", first["kind"], first["name"], a.Content["port"])))
}

func wizardSecond(c *call) (*reply, error) {
	a := c.answer("project")
	if a == nil || a.Action != "accept" {
		return done(failure("The wizard stopped at its first step."))
	}
	data, err := json.Marshal(a.Content)
	if err != nil {
		return nil, err
	}
	return &reply{next: &statePayload{Step: 2, Data: data}, requests: []request{form("details",
		fmt.Sprintf("Step 2 of 2: details of the %v %v.", a.Content["kind"], a.Content["name"]),
		`{"type":"object","properties":{"name":{"type":"string","title":"Project name","maxLength":40},"port":{"type":"integer","title":"Port","minimum":1,"maximum":65535,"default":8080}},"required":["port"]}`)}}, nil
}

func pair(_ context.Context, c *call) (*reply, error) {
	z, a := c.answer("z"), c.answer("a")
	if z == nil || a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{
			form("z", "First of two: who reviews?", `{"type":"object","properties":{"reviewer":{"type":"string","title":"Reviewer","minLength":1,"maxLength":60}},"required":["reviewer"]}`),
			form("a", "Second of two: how urgent is it?", `{"type":"object","properties":{"urgency":{"type":"string","title":"Urgency","enum":["low","high"]}},"required":["urgency"]}`),
		}}, nil
	}
	say := func(r *mcp.ElicitResult, name string) any {
		if r.Action != "accept" {
			return "(" + r.Action + ")"
		}
		return r.Content[name]
	}
	return done(text(fmt.Sprintf("Reviewer %v, urgency %v.", say(z, "reviewer"), say(a, "urgency"))))
}

func confirm(_ context.Context, c *call) (*reply, error) {
	a := c.answer("go")
	if a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("go", "Rebuild the search index? It takes an hour.", `{"type":"object","properties":{}}`)}}, nil
	}
	if a.Action == "accept" {
		return done(text("The index is being rebuilt."))
	}
	return done(failure("The index is left as it is: " + a.Action + "."))
}

func wait(_ context.Context, c *call) (*reply, error) {
	in := struct{ Rounds int }{Rounds: 3}
	if err := c.arguments(&in); err != nil {
		return nil, err
	}
	if c.step >= in.Rounds {
		return done(text(fmt.Sprintf("Done after %d rounds.", c.step)))
	}
	return &reply{next: &statePayload{Step: c.step + 1}}, nil
}

func never(_ context.Context, c *call) (*reply, error) {
	return &reply{next: &statePayload{Step: c.step + 1}}, nil
}

func plain(_ context.Context, c *call) (*reply, error) {
	in := struct{ Text string }{Text: "hello"}
	if err := c.arguments(&in); err != nil {
		return nil, err
	}
	return done(text(in.Text))
}

func slow(ctx context.Context, c *call) (*reply, error) {
	in := struct{ Steps, Every int }{Steps: 5, Every: 600}
	if err := c.arguments(&in); err != nil {
		return nil, err
	}
	tick := time.NewTicker(max(time.Duration(in.Every), 1) * time.Millisecond)
	defer tick.Stop()
	for i := range in.Steps {
		c.progress(float64(i), float64(in.Steps), fmt.Sprintf("step %d of %d", i+1, in.Steps))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c.progress(float64(in.Steps), float64(in.Steps), "finished")
	return done(text(fmt.Sprintf("Finished %d steps.", in.Steps)))
}
