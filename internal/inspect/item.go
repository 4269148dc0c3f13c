package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Item is an entry of one of a server's lists, as far as all of them are alike.
type Item struct {
	Name, Title, Description string
	URI                      string // of a resource; of a template, its pattern
	MIMEType                 string
	Template                 bool
	Arguments                []Argument // of a prompt, or the variables of a template
	Raw                      json.RawMessage
}

// Argument is an argument of a prompt.
type Argument struct {
	Name, Title, Description string
	Required                 bool
}

// ReadItem reads an entry. What is of another type than it should be is left out.
func ReadItem(raw json.RawMessage) Item {
	it := Item{Name: text(get(raw, "name")), Title: text(get(raw, "title")), Description: text(get(raw, "description")),
		URI: text(get(raw, "uri")), MIMEType: text(get(raw, "mimeType")), Raw: raw}
	var args []json.RawMessage
	if json.Unmarshal(get(raw, "arguments"), &args) == nil {
		for _, a := range args {
			it.Arguments = append(it.Arguments, Argument{text(get(a, "name")), text(get(a, "title")), text(get(a, "description")),
				string(get(a, "required")) == "true"})
		}
	}
	if t := text(get(raw, "uriTemplate")); t != "" {
		it.URI, it.Template = t, true
		for _, v := range TemplateVariables(t) {
			it.Arguments = append(it.Arguments, Argument{Name: v, Required: needed(t, v)})
		}
	}
	return it
}

// ResultText is the result of a call in words.
func ResultText(method string, raw json.RawMessage) string {
	switch method {
	case "tools/call":
		if s := contentText(get(raw, "content")); len(get(raw, "content")) > 2 {
			return s
		}
		if v := get(raw, "structuredContent"); v != nil {
			return Pretty(v)
		}
	case "prompts/get":
		return messagesText(get(raw, "messages"))
	case "resources/read":
		return contentsText(get(raw, "contents"))
	}
	return Pretty(raw)
}

func messagesText(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return Pretty(raw)
	}
	var out []string
	for _, m := range list {
		out = append(out, text(get(m, "role"))+": "+contentText(get(m, "content")))
	}
	return strings.Join(out, "\n")
}

func contentsText(raw json.RawMessage) string {
	var list []struct{ URI, Text, Blob, MIMEType string }
	if json.Unmarshal(raw, &list) != nil {
		return Pretty(raw)
	}
	var out []string
	for _, c := range list {
		if c.Blob != "" {
			out = append(out, fmt.Sprintf("[%s %s, %d bytes]", c.URI, c.MIMEType, len(c.Blob)/4*3))
			continue
		}
		out = append(out, c.Text)
	}
	return strings.Join(out, "\n")
}
