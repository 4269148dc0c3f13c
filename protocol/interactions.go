package protocol

// InteractionSchemaVersion is the schemaVersion of an Interaction.
const InteractionSchemaVersion = 1

// InteractionStatus is pending, then answered or closed for good.
type InteractionStatus string

const (
	InteractionPending  InteractionStatus = "pending"
	InteractionAnswered InteractionStatus = "answered"
	InteractionClosed   InteractionStatus = "closed"
)

// Known reports whether s is in the protocol's list.
func (s InteractionStatus) Known() bool {
	return s == InteractionPending || s == InteractionAnswered || s == InteractionClosed
}

// Kinds of requests, answers and outcomes.
const (
	KindForm            = "form"
	KindQuestion        = "question"
	KindSandboxBoundary = "sandbox_boundary"
	KindPermission      = "permission"

	KindFormAnswer              = "form_answer"
	KindQuestionAnswer          = "question_answer"
	KindSandboxBoundaryDecision = "sandbox_boundary_decision"
	KindClosure                 = "closure"
)

// Interaction is a question to a person: pending (revision 1, no outcome), then
// answered or closed (revision 2).
type Interaction struct {
	SchemaVersion int                `json:"schemaVersion" wire:"min=1"`
	InteractionID string             `json:"interactionId" wire:"id"`
	SessionID     string             `json:"sessionId" wire:"id"`
	TurnID        string             `json:"turnId" wire:"id"`
	RunID         string             `json:"runId" wire:"id"`
	Request       InteractionBody    `json:"request"`
	Revision      int                `json:"revision" wire:"min=1"`
	Status        InteractionStatus  `json:"status"`
	Outcome       InteractionOutcome `json:"outcome" wire:"null"`
}

// InteractionBody is what an Interaction asks: *FormRequest, *QuestionRequest,
// *SandboxBoundaryRequest, *PermissionRequest or *UnknownRequest.
type InteractionBody interface {
	// Kind is the wire's name of the request.
	Kind() string
	interactionBody()
}

// InteractionAnswer is what a person says: *FormAnswer, *QuestionAnswer,
// *SandboxBoundaryAnswer or *PermissionAnswer.
type InteractionAnswer interface {
	Kind() string
	interactionAnswer()
}

// InteractionOutcome is how an Interaction ended: *FormOutcome,
// *QuestionOutcome, *SandboxBoundaryOutcome, *Closure or *UnknownOutcome.
type InteractionOutcome interface {
	Kind() string
	interactionOutcome()
}

// QuestionOption is one choice of a question.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description" wire:"opt"`
}

// Question is one question; free text is always allowed.
type Question struct {
	Question string           `json:"question"`
	Options  []QuestionOption `json:"options" wire:"items=2:3"`
}

// QuestionRequest asks one to three questions.
type QuestionRequest struct {
	ToolUseID string     `json:"toolUseId" wire:"len=1:1024"`
	Questions []Question `json:"questions" wire:"items=1:3"`
}

// SandboxEntry is a path that a tool wants to reach.
type SandboxEntry struct {
	Path   string `json:"path"`
	Access string `json:"access"`
	Scope  string `json:"scope"`
}

// SandboxFilesystem lists the paths of an expansion.
type SandboxFilesystem struct {
	Entries []SandboxEntry `json:"entries"`
}

// SandboxNetwork is the network part of an expansion.
type SandboxNetwork struct {
	Enabled bool `json:"enabled"`
}

// SandboxExpansion is what a tool wants beyond its sandbox.
type SandboxExpansion struct {
	Filesystem *SandboxFilesystem `json:"filesystem" wire:"opt"`
	Network    *SandboxNetwork    `json:"network" wire:"opt"`
}

// SandboxBoundaryRequest asks to widen the sandbox.
type SandboxBoundaryRequest struct {
	Expansion     SandboxExpansion `json:"expansion"`
	Justification string           `json:"justification"`
}

// PermissionRequest asks whether a tool may run; no Host creates one yet, so
// its prompt is only carried.
type PermissionRequest struct {
	ToolUseID string     `json:"toolUseId" wire:"len=1:1024"`
	Prompt    RawMessage `json:"prompt"`
}

// UnknownRequest is a request in a projection that this package cannot read:
// of a kind that it does not know, or not of the shape that its kind has. It
// can be shown as a fact and not be answered.
type UnknownRequest struct {
	WireKind string
	Problem  string // "" for an unknown kind
	Raw      RawMessage
}

// QuestionAnswer has one answer a question; nil skips it.
type QuestionAnswer struct {
	Answers []*string `json:"answers" wire:"items=1:3,each=0:2048"`
}

// Decisions of sandbox and permission answers.
const (
	DecisionAllow = "allow"
	DecisionDeny  = "deny"
)

// SandboxBoundaryAnswer allows or denies.
type SandboxBoundaryAnswer struct {
	Decision string `json:"decision" wire:"one=allow|deny"`
}

// PermissionAnswer allows or denies; only an allowance can be remembered.
type PermissionAnswer struct {
	Decision        string `json:"decision" wire:"one=allow|deny"`
	RememberForTurn bool   `json:"rememberForTurn"`
}

// QuestionOutcome is the answer that was committed, at CommittedAt (Unix ms).
type QuestionOutcome struct {
	Answers     []*string `json:"answers" wire:"items=1:3"`
	CommittedAt int64     `json:"committedAt" wire:"min=0"`
}

// SandboxBoundaryOutcome is the decision and what came of it.
type SandboxBoundaryOutcome struct {
	Decision    string `json:"decision" wire:"one=allow|deny"`
	Status      string `json:"status" wire:"opt,len=1:128"`
	CommittedAt int64  `json:"committedAt" wire:"min=0"`
}

// ClosureReason is why an Interaction ended without an answer.
type ClosureReason string

const (
	ClosedTurnStopped   ClosureReason = "turn_stopped"
	ClosedTurnTerminal  ClosureReason = "turn_terminal"
	ClosedTimedOut      ClosureReason = "timed_out"
	ClosedHostRestarted ClosureReason = "host_restarted"
	// Only where the dialect has forms.
	ClosedProducerCancelled    ClosureReason = "producer_cancelled"
	ClosedProviderDisconnected ClosureReason = "provider_disconnected"
)

// KnownIn reports whether r may occur in dialect d.
func (r ClosureReason) KnownIn(d Dialect) bool {
	switch r {
	case ClosedTurnStopped, ClosedTurnTerminal, ClosedTimedOut, ClosedHostRestarted:
		return true
	case ClosedProducerCancelled, ClosedProviderDisconnected:
		return d.Forms()
	}
	return false
}

// Closure ends an Interaction without an answer.
type Closure struct {
	Reason      ClosureReason `json:"reason"`
	CommittedAt int64         `json:"committedAt" wire:"min=0"`
}

// UnknownOutcome is an outcome of a kind that this package does not know.
type UnknownOutcome struct {
	WireKind string
	Raw      RawMessage
}

// InteractionQueryInput asks for one Interaction, also a settled one.
type InteractionQueryInput struct {
	SessionID     string `json:"sessionId" wire:"id"`
	InteractionID string `json:"interactionId" wire:"id"`
}

// InteractionAnswerInput answers one Interaction.
type InteractionAnswerInput struct {
	SessionID     string            `json:"sessionId" wire:"id"`
	InteractionID string            `json:"interactionId" wire:"id"`
	Answer        InteractionAnswer `json:"answer"`
}

// InteractionQueryResult and InteractionAnswerResult are the Interaction.
type (
	InteractionQueryResult  = Interaction
	InteractionAnswerResult = Interaction
)

func (*InteractionQueryInput) Operation() Operation  { return OpInteractionQuery }
func (*InteractionAnswerInput) Operation() Operation { return OpInteractionAnswer }
func (*Interaction) result()                         {}

func (*QuestionRequest) Kind() string        { return KindQuestion }
func (*SandboxBoundaryRequest) Kind() string { return KindSandboxBoundary }
func (*PermissionRequest) Kind() string      { return KindPermission }
func (r *UnknownRequest) Kind() string       { return r.WireKind }
func (*QuestionAnswer) Kind() string         { return KindQuestion }
func (*SandboxBoundaryAnswer) Kind() string  { return KindSandboxBoundary }
func (*PermissionAnswer) Kind() string       { return KindPermission }
func (*QuestionOutcome) Kind() string        { return KindQuestionAnswer }
func (*SandboxBoundaryOutcome) Kind() string { return KindSandboxBoundaryDecision }
func (*Closure) Kind() string                { return KindClosure }
func (o *UnknownOutcome) Kind() string       { return o.WireKind }

func (*QuestionRequest) interactionBody()           {}
func (*SandboxBoundaryRequest) interactionBody()    {}
func (*PermissionRequest) interactionBody()         {}
func (*UnknownRequest) interactionBody()            {}
func (*QuestionAnswer) interactionAnswer()          {}
func (*SandboxBoundaryAnswer) interactionAnswer()   {}
func (*PermissionAnswer) interactionAnswer()        {}
func (*QuestionOutcome) interactionOutcome()        {}
func (*SandboxBoundaryOutcome) interactionOutcome() {}
func (*Closure) interactionOutcome()                {}
func (*UnknownOutcome) interactionOutcome()         {}
