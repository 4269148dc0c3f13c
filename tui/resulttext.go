package tui

import (
	"encoding/json"
	"fmt"
	"strings"
)

// block is one content block of a tool's result, as far as it is shown.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Blob     string `json:"blob"`
}

// resultText is a tool's result for a person: its texts, what else it holds in a word, and its structured
// content where nothing was said. Anything that has not the shape of a result is shown as it is.
func resultText(raw []byte) string {
	var r struct {
		Content    []block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Content == nil {
		return pretty(string(raw))
	}
	var out []string
	for _, b := range r.Content {
		out = append(out, blockText(b))
	}
	if len(out) == 0 && len(r.Structured) > 0 && string(r.Structured) != "null" {
		return pretty(string(r.Structured))
	}
	return strings.Join(out, "\n")
}

func blockText(b block) string {
	switch b.Type {
	case "text":
		return b.Text
	case "image", "audio":
		return fmt.Sprintf("(%s %s, %s)", b.Type, b.MimeType, size(len(b.Data)*3/4))
	case "resource":
		if b.Text != "" {
			return "(" + b.URI + ")\n" + b.Text
		}
		return fmt.Sprintf("(%s %s, %s)", b.URI, b.MimeType, size(len(b.Blob)*3/4))
	case "resource_link":
		return strings.TrimSpace("(" + b.Name + " " + b.URI + ")")
	}
	return "(" + b.Type + ")"
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
