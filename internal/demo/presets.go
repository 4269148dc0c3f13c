package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// presets are small tools for the inspector: each shows one shape of a multi round-trip exchange.
var presets = []tool{
	{name: "mrtr_confirm", description: "One round: confirm with a boolean.", schema: noArguments, annotations: readOnly, run: mrtrConfirm},
	{name: "mrtr_two_step", description: "Two rounds of one form each, with a state between them.", schema: noArguments, annotations: readOnly, run: mrtrTwoStep},
	{name: "mrtr_sample", description: "One round that asks the client to sample a message.", schema: noArguments, annotations: readOnly, run: mrtrSample},
	{name: "mrtr_roots", description: "One round that asks for the client's roots.", schema: noArguments, annotations: readOnly, run: mrtrRoots},
	{name: "mrtr_edge", description: "A round of inputRequests without a state, then a round with a state alone.", schema: noArguments, annotations: readOnly, run: mrtrEdge},
	{name: "mrtr_loop", description: "Asks again for ever; the client's round limit ends it.", schema: noArguments, annotations: readOnly, run: mrtrLoop},
}

const confirmSchema = `{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm"}},"required":["confirm"]}`

func outcome(a *mcp.ElicitResult) string {
	if a.Action != "accept" {
		return a.Action
	}
	j, _ := json.Marshal(a.Content)
	return "accept " + string(j)
}

func mrtrConfirm(_ context.Context, c *call) (*reply, error) {
	if a := c.answer("confirm"); a != nil {
		return done(text("MRTR complete: " + outcome(a)))
	}
	return &reply{next: &statePayload{Step: 1}, requests: []request{form("confirm", "Please confirm.", confirmSchema)}}, nil
}

func mrtrTwoStep(_ context.Context, c *call) (*reply, error) {
	ask := func(step int, key string, data json.RawMessage) (*reply, error) {
		return &reply{next: &statePayload{Step: step, Data: data}, requests: []request{form(key,
			fmt.Sprintf("Step %d of 2: a word, please.", step),
			`{"type":"object","properties":{"word":{"type":"string","title":"Word","minLength":1,"maxLength":40}},"required":["word"]}`)}}, nil
	}
	switch c.step {
	case 0:
		return ask(1, "first", nil)
	case 1:
		a := c.answer("first")
		if a == nil {
			return ask(1, "first", nil)
		}
		data, err := json.Marshal(outcome(a))
		if err != nil {
			return nil, err
		}
		return ask(2, "second", data)
	}
	a := c.answer("second")
	if a == nil {
		return ask(2, "second", c.data)
	}
	var first string
	if err := json.Unmarshal(c.data, &first); err != nil {
		return nil, err
	}
	return done(text("MRTR complete: " + first + ", then " + outcome(a)))
}

func mrtrSample(_ context.Context, c *call) (*reply, error) {
	switch r := c.answers["capital"].(type) {
	case nil:
		return &reply{next: &statePayload{Step: 1}, requests: []request{{"capital", "sampling/createMessage", &mcp.CreateMessageParams{
			MaxTokens: 100, SystemPrompt: "Answer in one word.",
			ModelPreferences: &mcp.ModelPreferences{Hints: []*mcp.ModelHint{{Name: "small"}}, SpeedPriority: 0.9},
			Messages:         []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is the capital of France?"}}},
		}}}}, nil
	case *mcp.CreateMessageWithToolsResult:
		for _, part := range r.Content {
			if t, ok := part.(*mcp.TextContent); ok {
				return done(text("MRTR complete: sampled " + t.Text))
			}
		}
	case *mcp.CreateMessageResult:
		if t, ok := r.Content.(*mcp.TextContent); ok {
			return done(text("MRTR complete: sampled " + t.Text))
		}
	}
	return done(text("MRTR complete: sampled something that is not text"))
}

func mrtrRoots(_ context.Context, c *call) (*reply, error) {
	r, ok := c.answers["roots"].(*mcp.ListRootsResult)
	if !ok {
		return &reply{next: &statePayload{Step: 1}, requests: []request{{"roots", "roots/list", &mcp.ListRootsParams{}}}}, nil
	}
	names := []string{}
	for _, root := range r.Roots {
		names = append(names, root.URI)
	}
	return done(text(fmt.Sprintf("MRTR complete: %d roots %q", len(names), names)))
}

// mrtrEdge has no state in its first round, so it knows the second leg by the answer alone.
func mrtrEdge(_ context.Context, c *call) (*reply, error) {
	if c.step > 0 {
		return done(text("MRTR complete: both shapes of a round"))
	}
	if c.answer("only") == nil {
		return &reply{requests: []request{form("only", "This round has no requestState.", confirmSchema)}}, nil
	}
	return &reply{next: &statePayload{Step: 1}}, nil
}

func mrtrLoop(_ context.Context, c *call) (*reply, error) {
	return &reply{next: &statePayload{Step: c.step + 1}, requests: []request{form("again",
		fmt.Sprintf("Round %d. Again?", c.step+1), confirmSchema)}}, nil
}
