package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"askback/forms"
	"askback/internal/strictjson"
)

// Sampling is a sampling/createMessage as it is shown to whoever writes the answer. Texts are the server's.
type Sampling struct {
	System   string
	Messages []SamplingMessage
	Hints    []string // names of models
	// Cost, Speed and Intelligence are the priorities as they were written, "" where there are none.
	Cost, Speed, Intelligence string
	MaxTokens, Temperature    string
	Context                   string
	Stop                      []string
	Tools                     []SamplingTool
	ToolChoice                string
}

// SamplingMessage is one message of the conversation that is to be continued.
type SamplingMessage struct{ Role, Text string }

// SamplingTool is a tool that the answer may use.
type SamplingTool struct{ Name, Description string }

// ReadSampling reads the params of a sampling request. What it does not know, it leaves to the raw view.
func ReadSampling(params json.RawMessage) Sampling {
	var p struct {
		SystemPrompt     string
		IncludeContext   string
		MaxTokens        json.Number
		Temperature      json.Number
		StopSequences    []string
		Messages         []json.RawMessage
		ToolChoice       json.RawMessage
		Tools            []SamplingTool
		ModelPreferences struct {
			Hints                                             []struct{ Name string }
			CostPriority, SpeedPriority, IntelligencePriority json.Number
		}
	}
	_ = json.Unmarshal(params, &p) // what is of another type than it should be is not shown here
	s := Sampling{System: p.SystemPrompt, MaxTokens: p.MaxTokens.String(), Temperature: p.Temperature.String(), Context: p.IncludeContext,
		Stop: p.StopSequences, Tools: p.Tools, Cost: p.ModelPreferences.CostPriority.String(),
		Speed: p.ModelPreferences.SpeedPriority.String(), Intelligence: p.ModelPreferences.IntelligencePriority.String()}
	for _, h := range p.ModelPreferences.Hints {
		s.Hints = append(s.Hints, h.Name)
	}
	for _, m := range p.Messages {
		s.Messages = append(s.Messages, SamplingMessage{text(get(m, "role")), contentText(get(m, "content"))})
	}
	if len(p.ToolChoice) > 0 {
		s.ToolChoice = string(p.ToolChoice)
	}
	return s
}

// maxNested is how deep results of tools are read within each other.
const maxNested = 4

// contentText is a content block, or a list of them, in words.
func contentText(raw json.RawMessage) string { return nestedText(raw, 0) }

func nestedText(raw json.RawMessage, depth int) string {
	if depth > maxNested {
		return "…"
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var out []string
	for _, b := range list {
		out = append(out, blockText(b, depth))
	}
	return strings.Join(out, "\n")
}

// blockText is one content block in words: a text as it is, anything else by its kind and size.
func blockText(raw json.RawMessage, depth int) string {
	var b struct {
		Type, Text, Data, MIMEType, Name, URI string
		Input                                 json.RawMessage
		Content                               json.RawMessage
		Resource                              struct{ URI, Text, Blob, MIMEType string }
	}
	if json.Unmarshal(raw, &b) != nil {
		return Pretty(raw)
	}
	switch b.Type {
	case "text":
		return b.Text
	case "image", "audio":
		return fmt.Sprintf("[%s %s, %d bytes]", b.Type, b.MIMEType, len(b.Data)/4*3)
	case "resource":
		if b.Resource.Text != "" {
			return fmt.Sprintf("[resource %s]\n%s", b.Resource.URI, b.Resource.Text)
		}
		return fmt.Sprintf("[resource %s %s, %d bytes]", b.Resource.URI, b.Resource.MIMEType, len(b.Resource.Blob)/4*3)
	case "resource_link":
		return fmt.Sprintf("[link %s %s]", b.Name, b.URI)
	case "tool_use":
		return fmt.Sprintf("[tool_use %s %s]", b.Name, b.Input)
	case "tool_result":
		return "[tool_result] " + nestedText(b.Content, depth+1)
	}
	return Pretty(raw)
}

// SamplingModel is what an answer that a person wrote gives as its model.
const SamplingModel = "a person"

// SamplingAnswer turns what a person wrote into a CreateMessageResult: a text that begins with { is the whole result
// as JSON, any other is what the model said.
func SamplingAnswer(s string) (json.RawMessage, error) {
	if strings.TrimSpace(s) == "" {
		return nil, errors.New("the answer is empty")
	}
	if !isObject(json.RawMessage(s)) {
		return object([]member{{"role", quoted("assistant")},
			{"content", object([]member{{"type", quoted("text")}, {"text", quoted(s)}})},
			{"model", quoted(SamplingModel)}, {"stopReason", quoted("endTurn")}}), nil
	}
	v, err := strictjson.Parse([]byte(s), strictjson.Limits{MaxBytes: 1 << 20})
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	for _, key := range []string{"role", "content", "model"} {
		if _, ok := v.Get(key); !ok {
			return nil, fmt.Errorf("the answer has no %q; a result has role, content and model", key)
		}
	}
	return v.Raw(), nil
}

// SamplingText is the text that a result as JSON says, if SamplingAnswer makes the very same result of it.
func SamplingText(s string) (string, bool) {
	raw, err := SamplingAnswer(s)
	if err != nil || !isObject(json.RawMessage(s)) {
		return "", false
	}
	said := text(get(raw, "content", "text"))
	same, err := SamplingAnswer(said)
	return said, err == nil && Pretty(same) == Pretty(raw)
}

// Lines is the request in lines that are safe to show.
func (s Sampling) Lines() []string {
	var out []string
	add := func(name, value string) {
		if value == "" {
			return
		}
		for i, l := range strings.Split(forms.Block(value), "\n") {
			if i == 0 {
				l = name + ": " + l
			} else {
				l = "  " + l
			}
			out = append(out, l)
		}
	}
	add("system", s.System)
	for _, m := range s.Messages {
		add(forms.Line(m.Role), m.Text)
	}
	add("model", strings.Join(s.Hints, ", "))
	var prefer []string
	for _, p := range []struct{ name, value string }{{"cost", s.Cost}, {"speed", s.Speed}, {"intelligence", s.Intelligence}} {
		if p.value != "" {
			prefer = append(prefer, p.name+" "+p.value)
		}
	}
	add("prefers", strings.Join(prefer, ", "))
	add("max tokens", s.MaxTokens)
	add("temperature", s.Temperature)
	add("stops at", strings.Join(s.Stop, ", "))
	add("context", s.Context)
	for _, t := range s.Tools {
		add("tool "+forms.Line(t.Name), t.Description)
	}
	add("tool choice", s.ToolChoice)
	return out
}
