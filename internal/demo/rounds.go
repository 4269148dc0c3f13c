package demo

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one leg as a tool sees it: the original arguments, the step and data that its own requestState
// carried, and this round's answers.
type call struct {
	method, name string
	args         json.RawMessage
	step         int
	data         json.RawMessage
	answers      mcp.InputResponseMap
	progress     func(done, total float64, message string)
}

// reply is what a leg gives back: a final result, or a round of requests and a state, either of which may be
// missing from a round.
type reply struct {
	final    mcp.Result
	requests []request
	next     *statePayload
}

// request is one entry of inputRequests. Rounds keep their order, which a Go map would lose.
type request struct {
	key    string
	method string
	params any
}

type handler func(ctx context.Context, c *call) (*reply, error)

func done(r mcp.Result) (*reply, error) { return &reply{final: r}, nil }

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func failure(s string) *mcp.CallToolResult {
	r := text(s)
	r.IsError = true
	return r
}

// form makes an elicitation request whose schema keeps the order that it is written in.
func form(key, message, schema string) request {
	return request{key, "elicitation/create", &mcp.ElicitParams{
		Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema),
	}}
}

// answer finds the person's answer to a form.
func (c *call) answer(key string) *mcp.ElicitResult {
	r, _ := c.answers[key].(*mcp.ElicitResult)
	return r
}

// rawResult is a Result with the bytes that go on the wire. The SDK's own type can neither keep the order of
// inputRequests nor say input_required without them.
type rawResult struct {
	mcp.Result
	raw json.RawMessage
}

func (r rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }

// encodeRound writes an input_required result.
func encodeRound(requests []request, state string, hasState bool) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteString(`{"resultType":"input_required"`)
	if requests != nil {
		b.WriteString(`,"inputRequests":{`)
		for i, r := range requests {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(&b, r.key); err != nil {
				return nil, err
			}
			b.WriteByte(':')
			entry := struct {
				Method string `json:"method"`
				Params any    `json:"params,omitempty"`
			}{r.method, r.params}
			if err := writeJSON(&b, entry); err != nil {
				return nil, err
			}
		}
		b.WriteByte('}')
	}
	if hasState {
		b.WriteString(`,"requestState":`)
		if err := writeJSON(&b, state); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, v any) error {
	j, err := json.Marshal(v)
	if err == nil {
		b.Write(j)
	}
	return err
}
