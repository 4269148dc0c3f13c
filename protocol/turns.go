package protocol

// TurnStatus is where a Turn is in its life:
// admitted → created → running ⇄ waiting_for_user → completed | failed | cancelled.
type TurnStatus string

const (
	TurnAdmitted       TurnStatus = "admitted"
	TurnCreated        TurnStatus = "created"
	TurnRunning        TurnStatus = "running"
	TurnWaitingForUser TurnStatus = "waiting_for_user"
	TurnCompleted      TurnStatus = "completed"
	TurnFailed         TurnStatus = "failed"
	TurnCancelled      TurnStatus = "cancelled"
)

// Terminal reports whether a Turn of status s has ended.
func (s TurnStatus) Terminal() bool {
	return s == TurnCompleted || s == TurnFailed || s == TurnCancelled
}

// Values of Turn.AbortSource.
const (
	AbortStopButton = "renderer.stop_button"
	AbortUserStop   = "user_stop"
)

// ProviderRetry says that the model's provider is being tried again.
type ProviderRetry struct {
	Phase       string `json:"phase"`
	Attempt     int64  `json:"attempt"`
	MaxAttempts int64  `json:"maxAttempts"`
	DelayMs     *int64 `json:"delayMs" wire:"opt"`
	Reason      string `json:"reason"`
}

// TurnSnapshot is the state of one Turn.
type TurnSnapshot struct {
	_               struct{}       `wire:"open"`
	SessionID       string         `json:"sessionId" wire:"id"`
	TurnID          string         `json:"turnId" wire:"id"`
	RunID           string         `json:"runId" wire:"id"`
	Status          TurnStatus     `json:"status"`
	ProviderRetry   *ProviderRetry `json:"providerRetry" wire:"opt"`
	TerminalEventID string         `json:"terminalEventId" wire:"opt"`
	FailureClass    string         `json:"failureClass" wire:"opt"`
	FailureMessage  string         `json:"failureMessage" wire:"opt,bytes=0:256"`
	AbortSource     string         `json:"abortSource" wire:"opt"`
}

// Turn is the short name of TurnSnapshot.
type Turn = TurnSnapshot

// Content is what a person says in a Turn.
type Content struct {
	Text             string       `json:"text" wire:"bytes=1:49152"`
	DisplayText      string       `json:"displayText" wire:"opt,bytes=0:49152"`
	Attachments      []RawMessage `json:"attachments" wire:"opt,items=0:8"`
	Quotes           []RawMessage `json:"quotes" wire:"opt,items=0:16"`
	InlineReferences RawMessage   `json:"inlineReferences" wire:"opt"`
}

// TurnOrchestration overrides the session's orchestration for one Turn.
type TurnOrchestration struct {
	Mode   OrchestrationMode `json:"mode"`
	Source string            `json:"source" wire:"len=1:128"`
}

// TurnStartInput starts a Turn; idempotent for the same id and content.
type TurnStartInput struct {
	SessionID         string             `json:"sessionId" wire:"id"`
	TurnID            string             `json:"turnId" wire:"id"`
	Content           Content            `json:"content" wire:"json=53248"`
	SkillIDs          []string           `json:"skillIds" wire:"opt,items=0:64"`
	TurnOrchestration *TurnOrchestration `json:"turnOrchestration" wire:"opt"`
	MaxSteps          *int64             `json:"maxSteps" wire:"opt,min=1"`
}

// SkillInvocation reports on the skills of a Turn.
type SkillInvocation struct {
	_        struct{}     `wire:"open"`
	Loaded   []RawMessage `json:"loaded"`
	Failed   []RawMessage `json:"failed"`
	Receipts []RawMessage `json:"receipts"`
}

// Kinds of TurnStartResult.
const (
	KindStarted = "started"
	KindBlocked = "blocked"
)

// TurnStartResult is the Turn as it stands when the answer is written.
type TurnStartResult struct {
	_               struct{}         `wire:"open"`
	Kind            string           `json:"kind" wire:"one=started|blocked"`
	Turn            *TurnSnapshot    `json:"turn" wire:"for=started blocked?"`
	SkillInvocation *SkillInvocation `json:"skillInvocation" wire:"opt"`
}

// TurnQueryInput asks for one Turn.
type TurnQueryInput struct {
	SessionID string `json:"sessionId" wire:"id"`
	TurnID    string `json:"turnId" wire:"id"`
}

// TurnQueryResult is the Turn.
type TurnQueryResult = TurnSnapshot

// TurnStopInput stops a Turn; answered when the Turn is terminal.
type TurnStopInput struct {
	SessionID string `json:"sessionId" wire:"id"`
	TurnID    string `json:"turnId" wire:"id"`
	RunID     string `json:"runId" wire:"id"`
}

// TurnStopResult is the terminal Turn.
type TurnStopResult = TurnSnapshot

// Placement says where a submitted message goes.
type Placement string

const (
	PlaceCurrentTurn Placement = "current_turn"
	PlaceNextTurn    Placement = "next_turn"
)

// Known reports whether p is in the protocol's list.
func (p Placement) Known() bool { return p == PlaceCurrentTurn || p == PlaceNextTurn }

// TurnMessageSubmitInput queues a message or starts a Turn with it.
type TurnMessageSubmitInput struct {
	OriginHostEpoch string    `json:"originHostEpoch" wire:"plain"`
	SessionID       string    `json:"sessionId" wire:"id"`
	MessageID       string    `json:"messageId" wire:"id"`
	Content         Content   `json:"content" wire:"json=53248"`
	Placement       Placement `json:"placement"`
}

// Dispositions of a submitted message.
const (
	DispositionTurnStarted = "turn_started"
	DispositionSteering    = "steering"
	DispositionFollowup    = "followup"
)

// TurnMessageSubmitResult says what became of the message.
type TurnMessageSubmitResult struct {
	Disposition   string `json:"disposition" wire:"one=turn_started|steering|followup"`
	TurnID        string `json:"turnId" wire:"for=turn_started"`
	QueueRevision int64  `json:"queueRevision" wire:"for=steering followup"`
}

// QueueEntry is a message that waits.
type QueueEntry struct {
	EntryID   string    `json:"entryId"`
	MessageID string    `json:"messageId"`
	Content   Content   `json:"content"`
	Placement Placement `json:"placement"`
	State     string    `json:"state"`
}

// QueueRetractInput takes everything out of the queue.
type QueueRetractInput struct {
	OriginHostEpoch string `json:"originHostEpoch" wire:"plain"`
	SessionID       string `json:"sessionId" wire:"id"`
	RetractID       string `json:"retractId" wire:"id"`
}

// QueueRetractResult names what was taken out.
type QueueRetractResult struct {
	_             struct{}     `wire:"open"`
	QueueRevision int64        `json:"queueRevision"`
	Retracted     []QueueEntry `json:"retracted"`
}

// TurnInterruptInput stops a Turn and empties the queue.
type TurnInterruptInput struct {
	OriginHostEpoch string `json:"originHostEpoch" wire:"plain"`
	SessionID       string `json:"sessionId" wire:"id"`
	InterruptID     string `json:"interruptId" wire:"id"`
	TurnID          string `json:"turnId" wire:"id"`
	RunID           string `json:"runId" wire:"id"`
}

// TurnInterruptResult is the queue that was and the terminal Turn.
type TurnInterruptResult struct {
	_             struct{}     `wire:"open"`
	QueueRevision int64        `json:"queueRevision"`
	Retracted     []QueueEntry `json:"retracted"`
	Turn          TurnSnapshot `json:"turn"`
}

func (*TurnStartInput) Operation() Operation         { return OpTurnStart }
func (*TurnStartResult) result()                     {}
func (*TurnQueryInput) Operation() Operation         { return OpTurnQuery }
func (*TurnSnapshot) result()                        {}
func (*TurnStopInput) Operation() Operation          { return OpTurnStop }
func (*TurnMessageSubmitInput) Operation() Operation { return OpTurnMessageSubmit }
func (*TurnMessageSubmitResult) result()             {}
func (*QueueRetractInput) Operation() Operation      { return OpQueueRetract }
func (*QueueRetractResult) result()                  {}
func (*TurnInterruptInput) Operation() Operation     { return OpTurnInterrupt }
func (*TurnInterruptResult) result()                 {}
