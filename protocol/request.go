package protocol

import "encoding/json"

// RawMessage is JSON that this package carries and does not read: valid, one
// value, without repeated keys.
type RawMessage = json.RawMessage

// Operation names a request.
type Operation string

// The operations whose inputs and results this package knows.
const (
	OpHostStatus               Operation = "host.status"
	OpSessionCatalogQuery      Operation = "session.catalog.query"
	OpSessionCreate            Operation = "session.create"
	OpSessionRemove            Operation = "session.remove"
	OpSessionMetadataUpdate    Operation = "session.metadata.update"
	OpSessionConfigUpdate      Operation = "session.configuration.update"
	OpProjectCatalogQuery      Operation = "project.catalog.query"
	OpSubscriptionOpen         Operation = "subscription.open"
	OpSubscriptionClose        Operation = "subscription.close"
	OpTranscriptPage           Operation = "session.transcript.page"
	OpTranscriptOverlayRelease Operation = "session.transcript.overlay.release"
	OpTurnStart                Operation = "turn.start"
	OpTurnQuery                Operation = "turn.query"
	OpTurnStop                 Operation = "turn.stop"
	OpTurnMessageSubmit        Operation = "turn.message.submit"
	OpTurnInterrupt            Operation = "turn.interrupt"
	OpQueueRetract             Operation = "queue.retract"
	OpInteractionQuery         Operation = "interaction.query"
	OpInteractionAnswer        Operation = "interaction.answer"
	OpCapabilityReplace        Operation = "client.capability.replace"
	OpCapabilityUnregister     Operation = "client.capability.unregister"
)

// Operations that the protocol names and this package only carries: input and
// result are *RawInput and *RawResult.
const (
	OpHostDiagnosticsQuery     Operation = "host.diagnostics.query"
	OpAccessCredentialRevoke   Operation = "access.credential.revoke"
	OpAccessCredentialIssue    Operation = "access.credential.issue"
	OpAccessCredentialPrepare  Operation = "access.credential.prepare"
	OpAccessCredentialFinalize Operation = "access.credential.finalize"
	OpConnectionCatalogQuery   Operation = "connection.catalog.query"
	OpCredentialVaultQuery     Operation = "credential.vault.query"
	OpRuntimePolicyQuery       Operation = "runtime.policy.query"
	OpSkillCatalogQuery        Operation = "skill.catalog.invocable.query"
	OpExecutionBoundaryQuery   Operation = "session.execution_boundary.query"
)

// Input is the input of one operation; a pointer.
type Input interface{ Operation() Operation }

// Result is the result of one operation; a pointer.
type Result interface{ result() }

// Request asks for one operation. RequestID is unique among those in flight.
type Request struct {
	RequestID string
	Operation Operation // Encode fills it in from Input when empty
	Input     Input
}

// Response answers one Request: Result when OK, else Error.
type Response struct {
	RequestID string
	Operation Operation
	OK        bool
	Result    Result
	Error     *Error
}

func (*Request) frame()       {}
func (*Request) clientFrame() {}
func (*Response) frame()      {}
func (*Response) hostFrame()  {}

// RawInput is the input of an operation that is only named: a JSON object.
type RawInput struct {
	Op  Operation
	Raw RawMessage
}

// Operation implements Input.
func (in *RawInput) Operation() Operation { return in.Op }

// RawResult is the result of an operation that is only named.
type RawResult struct{ Raw RawMessage }

func (*RawResult) result() {}

// HostStatusInput asks how the Host is.
type HostStatusInput struct{}

// HostStatusResult says how the Host is.
type HostStatusResult struct {
	_                   struct{}  `wire:"open"`
	HostEpoch           string    `json:"hostEpoch"`
	CompositionID       string    `json:"compositionId"`
	CompositionRevision string    `json:"compositionRevision"`
	State               HostState `json:"state"`
	Connections         int       `json:"connections"`
	ActiveOperations    int       `json:"activeOperations"`
	ActiveResidencies   int       `json:"activeResidencies"`
}

func (*HostStatusInput) Operation() Operation { return OpHostStatus }
func (*HostStatusResult) result()             {}
