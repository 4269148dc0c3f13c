// Command greeter is a small MCP server whose one tool asks for a form.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const schema = `{"type":"object","properties":{"name":{"type":"string","title":"Your name","maxLength":40},"tone":{"type":"string","title":"Tone","enum":["warm","formal"],"default":"warm"}},"required":["name"]}`

func greet(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	a, ok := r.Params.InputResponses["who"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
			Mode: "form", Message: "Whom shall I greet, and how?", RequestedSchema: json.RawMessage(schema)}}}, nil, nil
	}
	name, _ := a.Content["name"].(string)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello " + name}}, IsError: a.Action != "accept"}, nil, nil
}

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "Greets somebody."}, greet)
	log.Fatal(s.Run(context.Background(), &mcp.StdioTransport{}))
}
