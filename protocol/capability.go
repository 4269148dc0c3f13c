package protocol

// Affinity says how long a provider stays bound to an offer's users.
type Affinity string

const (
	AffinitySession Affinity = "session"
	AffinityTurn    Affinity = "turn"
	AffinityCall    Affinity = "call"
)

// Known reports whether a is in the protocol's list.
func (a Affinity) Known() bool {
	return a == AffinitySession || a == AffinityTurn || a == AffinityCall
}

// HostPathAccess says whether calls carry the session's folder.
type HostPathAccess string

const (
	HostPathNone HostPathAccess = "none"
	HostPathCwd  HostPathAccess = "cwd"
)

// Known reports whether a is in the protocol's list.
func (a HostPathAccess) Known() bool { return a == HostPathNone || a == HostPathCwd }

// ActivityKind classifies a tool.
type ActivityKind string

// ActivityTool is the kind of a tool that says nothing else.
const ActivityTool ActivityKind = "tool"

// Known reports whether k is in the protocol's list.
func (k ActivityKind) Known() bool {
	switch k {
	case "computer", "read", "search", "websearch", "webfetch", "edit", "command", "explore", "browser", ActivityTool:
		return true
	}
	return false
}

// Annotations are a tool's hints; nothing may decide by them.
type Annotations struct {
	Title           string `json:"title" wire:"opt"`
	ReadOnlyHint    *bool  `json:"readOnlyHint" wire:"opt"`
	DestructiveHint *bool  `json:"destructiveHint" wire:"opt"`
	IdempotentHint  *bool  `json:"idempotentHint" wire:"opt"`
	OpenWorldHint   *bool  `json:"openWorldHint" wire:"opt"`
}

// Tool is one tool of an offer. InputSchema is a JSON Schema within the
// protocol's keywords; see package internal/toolschema.
type Tool struct {
	ServerID     string       `json:"serverId" wire:"len=1:128"`
	Name         string       `json:"name" wire:"len=1:128"`
	Description  string       `json:"description" wire:"opt,len=0:8192"`
	InputSchema  RawMessage   `json:"inputSchema" wire:"object,json=32768"`
	Annotations  *Annotations `json:"annotations" wire:"opt"`
	ActivityKind ActivityKind `json:"activityKind" wire:"opt"`
}

// Offer is a group of tools that a model loads together.
type Offer struct {
	OfferID        string         `json:"offerId" wire:"id"`
	Version        string         `json:"version" wire:"len=1:64"`
	Affinity       Affinity       `json:"affinity"`
	HostPathAccess HostPathAccess `json:"hostPathAccess"`
	Label          string         `json:"label" wire:"len=1:128"`
	Description    string         `json:"description" wire:"opt,len=0:1024"`
	Tools          []Tool         `json:"tools" wire:"items=1:64"`
}

// Service is a service that a provider offers to the Host itself.
type Service struct {
	ServiceID string `json:"serviceId" wire:"len=1:128"`
	Version   string `json:"version" wire:"len=1:64"`
}

// CapabilityReplaceInput publishes all that a connection offers.
type CapabilityReplaceInput struct {
	RegistrationID string    `json:"registrationId" wire:"id"`
	Offers         []Offer   `json:"offers" wire:"items=0:32"`
	Services       []Service `json:"services" wire:"opt,items=0:32"`
}

// CapabilityReplaceResult names the registration that is now current.
type CapabilityReplaceResult struct {
	RegistrationID string `json:"registrationId" wire:"id"`
	Revision       int64  `json:"revision" wire:"min=0"`
}

// CapabilityUnregisterInput takes the current registration back.
type CapabilityUnregisterInput struct {
	RegistrationID string `json:"registrationId" wire:"id"`
}

// CapabilityUnregisterResult names the registration that is gone.
type CapabilityUnregisterResult struct {
	RegistrationID string `json:"registrationId" wire:"id"`
	Revision       int64  `json:"revision" wire:"min=0"`
}

// CapabilityCall asks the provider to run a tool. ToolCallID is whatever the
// model's provider made up; Arguments is a JSON object, unchecked.
type CapabilityCall struct {
	InvocationID   string     `json:"invocationId" wire:"id"`
	RegistrationID string     `json:"registrationId" wire:"id"`
	OfferID        string     `json:"offerId" wire:"id"`
	ServerID       string     `json:"serverId" wire:"len=1:128"`
	ToolName       string     `json:"toolName" wire:"len=1:128"`
	Arguments      RawMessage `json:"arguments" wire:"object"`
	SessionID      string     `json:"sessionId" wire:"id"`
	TurnID         string     `json:"turnId" wire:"id"`
	ToolCallID     string     `json:"toolCallId"`
	Cwd            string     `json:"cwd" wire:"opt"`
}

// CapabilityServiceCall asks the provider for a service.
type CapabilityServiceCall struct {
	InvocationID   string     `json:"invocationId" wire:"id"`
	RegistrationID string     `json:"registrationId" wire:"id"`
	ServiceID      string     `json:"serviceId" wire:"len=1:128"`
	Version        string     `json:"version" wire:"len=1:64"`
	Method         string     `json:"method" wire:"len=1:128"`
	Input          RawMessage `json:"input"`
}

// CapabilityAccepted takes a call on. In a dialect with forms it bears
// admissionEvidence {"kind":"none"}, which the codec writes and requires.
type CapabilityAccepted struct {
	InvocationID string `json:"invocationId" wire:"id"`
}

// CapabilityRejected refuses a call before it is accepted.
type CapabilityRejected struct {
	InvocationID string `json:"invocationId" wire:"id"`
	Message      string `json:"message" wire:"len=1:4096"`
}

// CapabilityAdmitted lets the tool run.
type CapabilityAdmitted struct {
	InvocationID string `json:"invocationId" wire:"id"`
}

// CapabilityProgress counts steps: 0 ≤ Current ≤ Total, 1 ≤ Total ≤ 1024.
type CapabilityProgress struct {
	InvocationID string `json:"invocationId" wire:"id"`
	Current      int    `json:"current" wire:"min=0,max=1024"`
	Total        int    `json:"total" wire:"min=1,max=1024"`
}

// CapabilityResult ends a call well; at most MaxInlineResultBytes of JSON.
type CapabilityResult struct {
	InvocationID string     `json:"invocationId" wire:"id"`
	Result       ToolResult `json:"result" wire:"json=40960"`
}

// CapabilityResultStart announces a result in chunks.
type CapabilityResultStart struct {
	InvocationID string `json:"invocationId" wire:"id"`
	ByteLength   int    `json:"byteLength" wire:"min=1,max=25165824"`
	ChunkCount   int    `json:"chunkCount" wire:"min=1,max=683"`
}

// CapabilityResultChunk is one chunk: ChunkBytes raw bytes but for the last.
type CapabilityResultChunk struct {
	InvocationID string `json:"invocationId" wire:"id"`
	Index        int    `json:"index" wire:"min=0,max=682"`
	Data         []byte `json:"data" wire:"bytes=1:36864"`
}

// CapabilityFailed ends a call badly; the message reaches the model unchanged.
type CapabilityFailed struct {
	InvocationID string `json:"invocationId" wire:"id"`
	Message      string `json:"message" wire:"len=1:4096"`
}

// CapabilityCancel tells the provider to stop; a release follows.
type CapabilityCancel struct {
	InvocationID string `json:"invocationId" wire:"id"`
}

// CapabilityRelease is the last frame of an invocation.
type CapabilityRelease struct {
	InvocationID string `json:"invocationId" wire:"id"`
}

// RegistrationRelease says that no Turn uses a registration any more.
type RegistrationRelease struct {
	RegistrationID string `json:"registrationId" wire:"id"`
}

func (*CapabilityReplaceInput) Operation() Operation    { return OpCapabilityReplace }
func (*CapabilityReplaceResult) result()                {}
func (*CapabilityUnregisterInput) Operation() Operation { return OpCapabilityUnregister }
func (*CapabilityUnregisterResult) result()             {}

func (*CapabilityCall) frame()              {}
func (*CapabilityCall) hostFrame()          {}
func (*CapabilityServiceCall) frame()       {}
func (*CapabilityServiceCall) hostFrame()   {}
func (*CapabilityAdmitted) frame()          {}
func (*CapabilityAdmitted) hostFrame()      {}
func (*CapabilityCancel) frame()            {}
func (*CapabilityCancel) hostFrame()        {}
func (*CapabilityRelease) frame()           {}
func (*CapabilityRelease) hostFrame()       {}
func (*RegistrationRelease) frame()         {}
func (*RegistrationRelease) hostFrame()     {}
func (*CapabilityAccepted) frame()          {}
func (*CapabilityAccepted) clientFrame()    {}
func (*CapabilityRejected) frame()          {}
func (*CapabilityRejected) clientFrame()    {}
func (*CapabilityProgress) frame()          {}
func (*CapabilityProgress) clientFrame()    {}
func (*CapabilityResult) frame()            {}
func (*CapabilityResult) clientFrame()      {}
func (*CapabilityResultStart) frame()       {}
func (*CapabilityResultStart) clientFrame() {}
func (*CapabilityResultChunk) frame()       {}
func (*CapabilityResultChunk) clientFrame() {}
func (*CapabilityFailed) frame()            {}
func (*CapabilityFailed) clientFrame()      {}
