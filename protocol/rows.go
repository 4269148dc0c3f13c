package protocol

// Types of Row.
const (
	RowUser       = "user"
	RowAssistant  = "assistant"
	RowToolCall   = "tool_call"
	RowToolResult = "tool_result"
	RowTurnState  = "turn_state"
	RowTokenUsage = "token_usage"
	RowSystemNote = "system_note"
)

// Kinds of RowContent.
const (
	RowContentText = "text"
	RowContentJSON = "json"
)

// UncertainOutcome marks a result whose effects are not known.
type UncertainOutcome struct {
	_         struct{} `wire:"open"`
	Code      string   `json:"code"`
	RetrySafe bool     `json:"retrySafe"`
}

// RowContent is the content of a tool_result row. A kind that this package
// does not know keeps only its name; the row's Raw has the rest.
type RowContent struct {
	_                struct{}          `wire:"open"`
	Kind             string            `json:"kind"`
	Text             string            `json:"text" wire:"for=text *?"`
	UncertainOutcome *UncertainOutcome `json:"uncertainOutcome" wire:"opt"`
	Value            RawMessage        `json:"value" wire:"for=json *?"`
}

// Thinking is the thinking of an assistant row.
type Thinking struct {
	_    struct{} `wire:"open"`
	Text string   `json:"text" wire:"opt,always"`
}

// Row is one row of a transcript: the fields that its Type has, all else zero.
// TS is Unix milliseconds. DecodeRow keeps the whole row in Raw.
type Row struct {
	_                     struct{}    `wire:"open"`
	Type                  string      `json:"type"`
	ID                    string      `json:"id" wire:"opt"`
	TurnID                string      `json:"turnId" wire:"opt"`
	TS                    int64       `json:"ts" wire:"opt"`
	Text                  *string     `json:"text" wire:"opt"`
	ModelID               string      `json:"modelId" wire:"opt"`
	Thinking              *Thinking   `json:"thinking" wire:"opt"`
	SteeringEventID       string      `json:"steeringEventId" wire:"opt"`
	ToolUseID             string      `json:"toolUseId" wire:"opt"`
	ToolName              string      `json:"toolName" wire:"opt"`
	DisplayName           string      `json:"displayName" wire:"opt"`
	ActivityKind          string      `json:"activityKind" wire:"opt"`
	StepID                string      `json:"stepId" wire:"opt"`
	Args                  RawMessage  `json:"args" wire:"opt"`
	IsError               *bool       `json:"isError" wire:"opt"`
	Content               *RowContent `json:"content" wire:"opt"`
	DurationMs            *int64      `json:"durationMs" wire:"opt"`
	Origin                string      `json:"origin" wire:"opt"`
	ModelVisibility       string      `json:"modelVisibility" wire:"opt"`
	Status                string      `json:"status" wire:"opt"`
	AbortedAt             int64       `json:"abortedAt" wire:"opt"`
	AbortSource           string      `json:"abortSource" wire:"opt"`
	PartialOutputRetained *bool       `json:"partialOutputRetained" wire:"opt"`
	Kind                  string      `json:"kind" wire:"opt"`

	Raw RawMessage `json:"-"`
}
