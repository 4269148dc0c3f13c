package demo

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPushRounds bounds a legacy call, which has no client-side round limit to end it.
const maxPushRounds = 16

// push answers a call of a legacy client: the server keeps the rounds itself and asks by its own requests. A
// client that cannot be asked gets a tool error that says so.
func (s *Server) push(ctx context.Context, h handler, c *call, ss *mcp.ServerSession) (mcp.Result, error) {
	for range maxPushRounds {
		r, err := h(ctx, c)
		if err != nil {
			return nil, err
		}
		if r.final != nil {
			return r.final, nil
		}
		answers := mcp.InputResponseMap{}
		for _, q := range r.requests {
			a, err := ask(ctx, ss, q)
			if err != nil {
				return failure(fmt.Sprintf("%s needs input, and this client cannot be asked for it: %v", c.name, err)), nil
			}
			answers[q.key] = a
		}
		c.answers, c.step, c.data = answers, 0, nil
		if r.next != nil {
			c.step, c.data = r.next.Step, r.next.Data
		}
	}
	return failure(fmt.Sprintf("%s did not finish within %d rounds", c.name, maxPushRounds)), nil
}

func ask(ctx context.Context, ss *mcp.ServerSession, q request) (mcp.InputResponse, error) {
	switch p := q.params.(type) {
	case *mcp.ElicitParams:
		return ss.Elicit(ctx, p)
	case *mcp.CreateMessageParams:
		return ss.CreateMessage(ctx, p)
	case *mcp.ListRootsParams:
		return ss.ListRoots(ctx, p)
	}
	return nil, fmt.Errorf("no push form of %s", q.method)
}
