package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"askback/forms"
	"askback/protocol"
)

// callCodes is the closed list of codes that a tool call can end with.
var callCodes = []string{"server_error", "unsupported_input", "invalid_form", "invalid_answer", "limit_exceeded",
	"round_limit", "no_handler", "stale_binding", "connection_lost", "outcome_unknown", "timeout", "cancelled",
	"unsupported_result", "protocol_error"}

// splitCode reads "CODE: sentence". Anything else is the tool's own error.
func splitCode(message string) (code, sentence string) {
	if code, rest, ok := strings.Cut(message, ": "); ok && slices.Contains(callCodes, code) {
		return code, rest
	}
	return "server_error", message
}

// needsBypass begins what a Host says of a tool whose provider may also view and answer.
const needsBypass = "Client Capability tools require the Bypass execution boundary"

// outcome turns the end of the Turn and the result's row into what the command says.
func (c *caller) outcome() (*callOutput, error) {
	row := c.row
	switch {
	case row == nil && c.turn.Status == protocol.TurnFailed:
		return nil, &callFailure{code: "server_error", message: forms.Line(c.turn.FailureMessage)}
	case row == nil && c.turn.Status == protocol.TurnCancelled:
		return nil, &callFailure{code: "cancelled", message: "the Turn was stopped"}
	case row == nil || row.Content == nil:
		return nil, &callFailure{code: "protocol_error", message: "the Host ended the Turn without a result"}
	}
	if row.IsError == nil || !*row.IsError {
		result := json.RawMessage(row.Content.Value)
		if row.Content.Kind == protocol.RowContentText {
			result, _ = json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": row.Content.Text}}})
		}
		return &callOutput{result, c.forms}, nil
	}
	f := &callFailure{uncertain: row.Content.UncertainOutcome != nil}
	f.code, f.message = splitCode(row.Content.Text)
	f.message = forms.Block(f.message)
	if strings.HasPrefix(f.message, needsBypass) {
		f.message += "\n--permission-mode bypass makes such a Session: its agent may then read and write files, run commands and use the network without being asked. " +
			"A provider's own token (--provider-token-file) needs none."
	}
	switch {
	case c.turn.Status == protocol.TurnCancelled:
		f.code = "cancelled"
	case f.code == "server_error" && c.refused:
		f.exit = exitDeclined
	}
	if f.code != "cancelled" {
		f.uncertain = false // the code says it already
	}
	return nil, f
}

// settledSentence says how a form ended that somebody else settled.
func settledSentence(in protocol.Interaction, gone bool) string {
	if gone {
		return "The form is gone: the Host does not know it any more."
	}
	switch o := in.Outcome.(type) {
	case *protocol.FormOutcome:
		return fmt.Sprintf("The form was answered elsewhere (%s).", o.Result.Action)
	case *protocol.Closure:
		return "The form was closed: " + closureSentence(o.Reason) + "."
	}
	return "The form is not open any more."
}

func closureSentence(r protocol.ClosureReason) string {
	switch r {
	case protocol.ClosedTurnStopped:
		return "the Turn was stopped"
	case protocol.ClosedTurnTerminal:
		return "the Turn has ended"
	case protocol.ClosedTimedOut:
		return "nobody answered in time"
	case protocol.ClosedHostRestarted:
		return "the Host was restarted"
	case protocol.ClosedProducerCancelled:
		return "the tool ended the call"
	case protocol.ClosedProviderDisconnected:
		return "the program that runs the tool is gone"
	}
	return forms.Line(string(r))
}

// resultText is a result for people: the text of its content blocks, safe to show.
func resultText(result json.RawMessage) (string, error) {
	var r struct {
		Content []struct {
			Type, Text, URI, Name, MIMEType string
			Data                            string
		}
		StructuredContent json.RawMessage
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return "", fmt.Errorf("the Host's result is not readable: %w", err)
	}
	var b strings.Builder
	for _, block := range r.Content {
		switch block.Type {
		case "text":
			b.WriteString(forms.Block(block.Text))
		case "image", "audio":
			fmt.Fprintf(&b, "[%s %s, %d bytes]", block.Type, forms.Line(block.MIMEType), len(block.Data)/4*3)
		case "resource", "resource_link":
			fmt.Fprintf(&b, "[%s %s]", block.Type, forms.Line(block.URI))
			if block.Text != "" {
				b.WriteString("\n" + forms.Block(block.Text))
			}
		default:
			fmt.Fprintf(&b, "[%s]", forms.Line(block.Type))
		}
		b.WriteByte('\n')
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		b.WriteString(forms.Block(string(r.StructuredContent)) + "\n")
	}
	return b.String(), nil
}
