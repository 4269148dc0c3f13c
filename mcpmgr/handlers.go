package mcpmgr

import (
	"context"
	"encoding/json"

	"askback/forms"
)

// Handlers give a call what its server may ask for between two legs. A nil field is something the
// call cannot give; each leg tells a modern server exactly which fields are set. They are called
// one at a time, never two for one call, and must return when ctx ends.
//
// An error of a handler ends the call: a *[ToolCallError] as it is, anything else as cancelled.
type Handlers struct {
	// Form asks a person to fill in a form. The answer is checked against the server's schema
	// before it is sent.
	Form func(ctx context.Context, req FormRequest) (forms.Result, error)
	// Limits are those of the place where forms are shown; the zero value is forms.OurLimits. A
	// form over them fails its round before any form of it is shown.
	Limits forms.Limits
	// URL asks a person to visit an address. ActionAccept means that they agreed to open it.
	URL func(ctx context.Context, req URLRequest) (forms.Action, error)
	// Sampling answers a sampling/createMessage with a CreateMessageResult, as JSON.
	Sampling func(ctx context.Context, req SamplingRequest) (json.RawMessage, error)
	// Roots answers a roots/list.
	Roots func(ctx context.Context, req RootsRequest) ([]Root, error)

	// Progress and Log hear notifications that belong to the leg on the wire. They are called
	// from the connection's reader and must not block.
	Progress func(Progress)
	Log      func(LogMessage)
}

// interactive reports whether the handlers can give any input at all.
func (h Handlers) interactive() bool {
	return h.Form != nil || h.URL != nil || h.Sampling != nil || h.Roots != nil
}

// capabilities is the clientCapabilities value that declares exactly these handlers.
func (h Handlers) capabilities() json.RawMessage {
	var caps, el builder
	if h.Form != nil {
		el.add("form", []byte("{}"))
	}
	if h.URL != nil {
		el.add("url", []byte("{}"))
	}
	if h.Form != nil || h.URL != nil {
		caps.add("elicitation", el.bytes())
	}
	if h.Roots != nil {
		caps.add("roots", []byte("{}"))
	}
	if h.Sampling != nil {
		caps.add("sampling", []byte(`{"tools":{}}`))
	}
	return caps.bytes()
}

// Origin says where a request for input comes from.
type Origin struct {
	Server string
	Method string // of the call: tools/call, prompts/get, resources/read; "" for an uninvited request
	Name   string // the tool, the prompt, or the resource's URI
	Call   uint64 // of one logical call; 0 for an uninvited request
	Round  int    // 1 is the first input_required of the call
	Index  int    // 1-based, of Total requests in this round
	Total  int
	// Pushed is true for a legacy server's own request (inspect only): the answer goes back as the
	// response to it, not as a retry of the call.
	Pushed bool
}

// FormRequest is one form. Form is what the server's schema means, admitted and with its lengths
// settled (forms.Form.Fit), not projected for display. Hints and Ignored are what was read beside it.
type FormRequest struct {
	Origin
	Form    forms.Form
	Hints   []forms.Hint
	Ignored []forms.Ignored
	Params  json.RawMessage // the server's, verbatim, for an inspector
}

// URLRequest is one request to visit an address. Nothing has been fetched or opened.
type URLRequest struct {
	Origin
	Message       string
	URL           string
	ElicitationID string
}

// SamplingRequest is one request to write a model's answer. Params are the server's, verbatim.
type SamplingRequest struct {
	Origin
	Params json.RawMessage
}

// RootsRequest asks for the folders that the server may look at.
type RootsRequest struct{ Origin }

// Progress is one notifications/progress of the leg on the wire. Total is 0 where there is none.
type Progress struct {
	Progress, Total float64
	Message         string
}

// LogMessage is one notifications/message.
type LogMessage struct {
	Server, Level, Logger string
	Data                  json.RawMessage
}
