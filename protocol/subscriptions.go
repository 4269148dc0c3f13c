package protocol

// Kinds of TranscriptRequest.
const (
	TranscriptNone = "none"
	TranscriptTail = "tail"
)

// TranscriptRequest says how much of the transcript comes with an open.
type TranscriptRequest struct {
	Kind     string `json:"kind" wire:"one=none|tail"`
	MaxBytes int    `json:"maxBytes" wire:"for=tail,min=2,max=16384"`
}

// SubscriptionOpenInput opens a session.
type SubscriptionOpenInput struct {
	SessionID  string            `json:"sessionId" wire:"id"`
	Transcript TranscriptRequest `json:"transcript"`
}

// AssistantStream is assistant text that is being written.
type AssistantStream struct {
	Kind      string `json:"kind"`
	TurnID    string `json:"turnId"`
	MessageID string `json:"messageId"`
}

// SubscriptionTranscript is the tail that came with an open.
type SubscriptionTranscript struct {
	_                   struct{}       `wire:"open"`
	ThroughSequence     *int64         `json:"throughSequence" wire:"null"`
	OverlayMessageCount int64          `json:"overlayMessageCount"`
	Durable             TranscriptPage `json:"durable"`
	Overlay             TranscriptPage `json:"overlay"`
}

// SubscriptionOpenResult precedes every frame of its subscription.
type SubscriptionOpenResult struct {
	_                      struct{}                `wire:"extra"`
	HostEpoch              string                  `json:"hostEpoch" wire:"plain"`
	SubscriptionID         string                  `json:"subscriptionId" wire:"plain"`
	NextSequence           int64                   `json:"nextSequence" wire:"min=0"`
	Snapshot               Snapshot                `json:"snapshot"`
	ActiveAssistantStreams []AssistantStream       `json:"activeAssistantStreams" wire:"lax"`
	Transcript             *SubscriptionTranscript `json:"transcript" wire:"null"`
}

// SubscriptionCloseInput closes a subscription, repeatedly if need be.
type SubscriptionCloseInput struct {
	SubscriptionID string `json:"subscriptionId" wire:"plain"`
}

// SubscriptionCloseResult echoes the id.
type SubscriptionCloseResult struct {
	SubscriptionID string `json:"subscriptionId" wire:"plain"`
}

// Sources and directions of a transcript page.
const (
	SourceDurable  = "durable"
	SourceOverlay  = "overlay"
	DirectionOlder = "older"
	DirectionNewer = "newer"
)

// TranscriptPageInput asks for rows. Cursor and AnchorSequence exclude each
// other; both keys are always present.
type TranscriptPageInput struct {
	SubscriptionID  string  `json:"subscriptionId" wire:"plain"`
	Source          string  `json:"source" wire:"one=durable|overlay"`
	Direction       string  `json:"direction" wire:"one=older|newer"`
	ThroughSequence int64   `json:"throughSequence" wire:"min=0"`
	Cursor          *string `json:"cursor" wire:"null"`
	AnchorSequence  *int64  `json:"anchorSequence" wire:"null"`
	MaxBytes        int     `json:"maxBytes" wire:"min=2,max=524288"`
}

// Fragment is a range of bytes of one row's JSON: a durable row by Sequence, an
// overlay row by MessageIndex. Data is decoded from base64.
type Fragment struct {
	Kind          string  `json:"kind" wire:"one=durable|overlay"`
	Sequence      int64   `json:"sequence" wire:"for=durable,min=0"`
	MessageIndex  int64   `json:"messageIndex" wire:"for=overlay,min=0"`
	ByteOffset    int64   `json:"byteOffset" wire:"min=0"`
	TotalBytes    int64   `json:"totalBytes" wire:"min=0"`
	PayloadDigest *string `json:"payloadDigest" wire:"for=durable,null"`
	Data          []byte  `json:"data"`
}

// TranscriptPage is a page of fragments. With direction older rows come newest
// first, and a row that is too big for the page comes as its tail first.
type TranscriptPage struct {
	_               struct{}   `wire:"open"`
	Kind            string     `json:"kind"`
	SessionID       string     `json:"sessionId"`
	Source          string     `json:"source"`
	Direction       string     `json:"direction"`
	ThroughSequence *int64     `json:"throughSequence" wire:"null"`
	RawBytes        int64      `json:"rawBytes"`
	Fragments       []Fragment `json:"fragments"`
	NextCursor      *string    `json:"nextCursor" wire:"null"`
}

// TranscriptPageResult is the page.
type TranscriptPageResult = TranscriptPage

// TranscriptOverlayReleaseInput frees a subscription's overlay.
type TranscriptOverlayReleaseInput struct {
	SubscriptionID string `json:"subscriptionId" wire:"plain"`
}

// TranscriptOverlayReleaseResult echoes the id.
type TranscriptOverlayReleaseResult struct {
	SubscriptionID string `json:"subscriptionId" wire:"plain"`
}

// SubscriptionHeader is the place of a frame in its subscription: sequences
// start at the open's NextSequence and rise by one without gaps.
type SubscriptionHeader struct {
	HostEpoch      string `json:"hostEpoch" wire:"plain"`
	SubscriptionID string `json:"subscriptionId" wire:"plain"`
	Sequence       int64  `json:"sequence" wire:"min=0"`
}

// Header implements SubscriptionFrame.
func (h *SubscriptionHeader) Header() *SubscriptionHeader { return h }

// SessionProjection replaces the whole shown state.
type SessionProjection struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	Snapshot Snapshot `json:"snapshot"`
}

// Delta is live assistant text; StartOffset counts UTF-16 units.
type Delta struct {
	Kind        string `json:"kind"`
	TurnID      string `json:"turnId"`
	RunID       string `json:"runId"`
	MessageID   string `json:"messageId"`
	StartOffset int64  `json:"startOffset" wire:"min=0"`
	Text        string `json:"text" wire:"bytes=0:16384"`
	Reset       bool   `json:"reset" wire:"opt"`
	Complete    bool   `json:"complete" wire:"opt"`
}

// Kinds of Delta and AssistantStream.
const (
	DeltaText     = "text"
	DeltaThinking = "thinking"
)

// SessionDelta carries live assistant text.
type SessionDelta struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	SessionID string `json:"sessionId"`
	Delta     Delta  `json:"delta"`
}

// Types of ToolEvent.
const (
	EventToolStart       = "tool_start"
	EventToolProgress    = "tool_progress"
	EventToolOutputDelta = "tool_output_delta"
	EventToolResult      = "tool_result"
)

// Values of ToolEvent.Status.
const (
	ToolCompleted = "completed"
	ToolErrored   = "errored"
)

// ToolEvent is tool activity without arguments or content; those are in the
// transcript. TS is Unix milliseconds.
type ToolEvent struct {
	_                    struct{}   `wire:"open"`
	Type                 string     `json:"type"`
	ID                   string     `json:"id"`
	TurnID               string     `json:"turnId"`
	TS                   int64      `json:"ts"`
	ToolUseID            string     `json:"toolUseId"`
	ToolName             string     `json:"toolName" wire:"opt"`
	OperationID          string     `json:"operationId" wire:"opt"`
	ActivityKind         string     `json:"activityKind" wire:"opt"`
	DisplayName          string     `json:"displayName" wire:"opt"`
	StepID               string     `json:"stepId" wire:"opt"`
	Chunk                string     `json:"chunk" wire:"opt"`
	Seq                  *int64     `json:"seq" wire:"opt"`
	Stream               string     `json:"stream" wire:"opt"`
	Redacted             *bool      `json:"redacted" wire:"opt"`
	CreatedAt            *int64     `json:"createdAt" wire:"opt"`
	Status               string     `json:"status" wire:"opt"`
	DurationMs           *int64     `json:"durationMs" wire:"opt"`
	SandboxFailureReason RawMessage `json:"sandboxFailureReason" wire:"opt"`
}

// SessionEvent carries tool activity.
type SessionEvent struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	SessionID string    `json:"sessionId"`
	RunID     string    `json:"runId"`
	Event     ToolEvent `json:"event"`
}

// TranscriptAdvanced says that durable rows exist up to ThroughSequence.
type TranscriptAdvanced struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	SessionID       string `json:"sessionId"`
	ThroughSequence int64  `json:"throughSequence" wire:"min=0"`
}

// SessionDomainChanged hints that something else of the session changed.
type SessionDomainChanged struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	SessionID string     `json:"sessionId"`
	Domain    string     `json:"domain"`
	Resources RawMessage `json:"resources" wire:"opt"`
}

// Reasons of SubscriptionClosed.
const (
	ClosedSlowConsumer   = "slow_consumer"
	ClosedSessionRemoved = "session_removed"
)

// SubscriptionClosed is a subscription's last frame.
type SubscriptionClosed struct {
	_ struct{} `wire:"open"`
	SubscriptionHeader
	Reason string `json:"reason"`
}

func (*SubscriptionOpenInput) Operation() Operation         { return OpSubscriptionOpen }
func (*SubscriptionOpenResult) result()                     {}
func (*SubscriptionCloseInput) Operation() Operation        { return OpSubscriptionClose }
func (*SubscriptionCloseResult) result()                    {}
func (*TranscriptPageInput) Operation() Operation           { return OpTranscriptPage }
func (*TranscriptPage) result()                             {}
func (*TranscriptOverlayReleaseInput) Operation() Operation { return OpTranscriptOverlayRelease }
func (*TranscriptOverlayReleaseResult) result()             {}

func (*SessionProjection) frame()        {}
func (*SessionProjection) hostFrame()    {}
func (*SessionDelta) frame()             {}
func (*SessionDelta) hostFrame()         {}
func (*SessionEvent) frame()             {}
func (*SessionEvent) hostFrame()         {}
func (*TranscriptAdvanced) frame()       {}
func (*TranscriptAdvanced) hostFrame()   {}
func (*SessionDomainChanged) frame()     {}
func (*SessionDomainChanged) hostFrame() {}
func (*SubscriptionClosed) frame()       {}
func (*SubscriptionClosed) hostFrame()   {}
