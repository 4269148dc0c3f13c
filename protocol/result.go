package protocol

// Types of ContentBlock.
const (
	BlockText         = "text"
	BlockImage        = "image"
	BlockAudio        = "audio"
	BlockResource     = "resource"
	BlockResourceLink = "resource_link"
	BlockUnknown      = "unknown"
)

// ContentBlock is one piece of a result; Type says which fields it has:
// text{Text}; image and audio{Data, MimeType}; resource{URI, MimeType?, Text?,
// Blob?}; resource_link{URI, Name?, Description?, MimeType?}; unknown{Value}.
// Data and Blob are base64 text.
type ContentBlock struct {
	Type        string     `json:"type" wire:"one=text|image|audio|resource|resource_link|unknown"`
	Text        string     `json:"text" wire:"for=text resource?"`
	Data        string     `json:"data" wire:"for=image audio"`
	URI         string     `json:"uri" wire:"for=resource resource_link"`
	Name        string     `json:"name" wire:"for=resource_link?"`
	Description string     `json:"description" wire:"for=resource_link?"`
	MimeType    string     `json:"mimeType" wire:"for=image audio resource? resource_link?"`
	Blob        string     `json:"blob" wire:"for=resource?"`
	Value       RawMessage `json:"value" wire:"for=unknown"`
}

// ToolResult is what a tool returned. It has no error flag: a tool that failed
// is a CapabilityFailed. StructuredContent is any JSON value, nil when absent.
type ToolResult struct {
	Content           []ContentBlock `json:"content" wire:"items=0:256"`
	StructuredContent RawMessage     `json:"structuredContent" wire:"opt"`
}
