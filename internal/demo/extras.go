package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const noteURI = "demo://note"

// addPrompt adds a prompt that asks before it is rendered.
func (s *Server) addPrompt() {
	s.mcp.AddPrompt(&mcp.Prompt{
		Name: "briefing", Title: "Briefing", Description: "A briefing on a topic, after asking for whom.",
		Arguments: []*mcp.PromptArgument{{Name: "topic", Title: "Topic", Required: true}},
	}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, errors.New("demo: a prompt reached the SDK's handler")
	})
	s.handlers["prompts/get briefing"] = briefing
}

func briefing(_ context.Context, c *call) (*reply, error) {
	var in struct{ Topic string }
	if err := c.arguments(&in); err != nil {
		return nil, err
	}
	a := c.answer("audience")
	if a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("audience", "Whom is the briefing for?",
			`{"type":"object","properties":{"audience":{"type":"string","title":"Audience","enum":["team","board"]}},"required":["audience"]}`)}}, nil
	}
	whom := "nobody (" + a.Action + ")"
	if a.Action == "accept" {
		whom = fmt.Sprint(a.Content["audience"])
	}
	return done(&mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
		Content: &mcp.TextContent{Text: fmt.Sprintf("Brief the %s on %s.", whom, in.Topic)}}}})
}

// addResource adds a resource that asks every time it is read.
func (s *Server) addResource() {
	s.mcp.AddResource(&mcp.Resource{URI: noteURI, Name: "note", Title: "Note", MIMEType: "text/plain",
		Description: "Asks for a reason every time it is read."},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, errors.New("demo: a read reached the SDK's handler")
		})
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "demo://topics/{topic}", Name: "topic", MIMEType: "text/plain",
		Description: "A line on a topic."},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			topic := strings.TrimPrefix(r.Params.URI, "demo://topics/")
			return readText(r.Params.URI, "All about "+topic+"."), nil
		})
	s.handlers["resources/read "+noteURI] = note
}

func note(_ context.Context, c *call) (*reply, error) {
	a := c.answer("reason")
	if a == nil {
		return &reply{next: &statePayload{Step: 1}, requests: []request{form("reason", "Why do you read this note?",
			`{"type":"object","properties":{"reason":{"type":"string","title":"Reason","minLength":1,"maxLength":80}},"required":["reason"]}`)}}, nil
	}
	if a.Action != "accept" {
		return done(readText(noteURI, "The note stays closed: "+a.Action+"."))
	}
	return done(readText(noteURI, fmt.Sprintf("The note, read because: %v", a.Content["reason"])))
}

func readText(uri, body string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: body}}}
}

// complete proposes topics for the prompt's argument and the template's variable.
func (s *Server) complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var out []string
	for _, v := range []string{"budget", "forms", "releases", "security"} {
		if strings.HasPrefix(v, r.Params.Argument.Value) {
			out = append(out, v)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: out, Total: len(out)}}, nil
}
