package protocol

import "reflect"

// clientKinds and hostKinds name the frames that have a kind. Frames that only
// exist with forms are listed in formKinds too.
var (
	clientKinds = map[string]reflect.Type{
		"hello":                                 reflect.TypeFor[Hello](),
		"client.capability.accepted":            reflect.TypeFor[CapabilityAccepted](),
		"client.capability.rejected":            reflect.TypeFor[CapabilityRejected](),
		"client.capability.progress":            reflect.TypeFor[CapabilityProgress](),
		"client.capability.result":              reflect.TypeFor[CapabilityResult](),
		"client.capability.result_start":        reflect.TypeFor[CapabilityResultStart](),
		"client.capability.result_chunk":        reflect.TypeFor[CapabilityResultChunk](),
		"client.capability.failed":              reflect.TypeFor[CapabilityFailed](),
		"client.capability.interaction_request": reflect.TypeFor[InteractionRequest](),
	}
	hostKinds = map[string]reflect.Type{
		"accepted":     reflect.TypeFor[Accepted](),
		"incompatible": reflect.TypeFor[Incompatible](),
		"draining":     reflect.TypeFor[Draining](),

		"session.catalog.changed": reflect.TypeFor[SessionCatalogChanged](),
		"project.catalog.changed": reflect.TypeFor[ProjectCatalogChanged](),
		"configuration.changed":   reflect.TypeFor[ConfigurationChanged](),
		"scheduled-task.changed":  reflect.TypeFor[ScheduledTaskChanged](),

		"subscription.session_projection":     reflect.TypeFor[SessionProjection](),
		"subscription.session_delta":          reflect.TypeFor[SessionDelta](),
		"subscription.session_event":          reflect.TypeFor[SessionEvent](),
		"subscription.transcript_advanced":    reflect.TypeFor[TranscriptAdvanced](),
		"subscription.session_domain_changed": reflect.TypeFor[SessionDomainChanged](),
		"subscription.closed":                 reflect.TypeFor[SubscriptionClosed](),

		"client.capability.call":                 reflect.TypeFor[CapabilityCall](),
		"client.capability.service_call":         reflect.TypeFor[CapabilityServiceCall](),
		"client.capability.admitted":             reflect.TypeFor[CapabilityAdmitted](),
		"client.capability.cancel":               reflect.TypeFor[CapabilityCancel](),
		"client.capability.release":              reflect.TypeFor[CapabilityRelease](),
		"client.capability.registration_release": reflect.TypeFor[RegistrationRelease](),
		"client.capability.interaction_result":   reflect.TypeFor[InteractionResult](),
	}
	formKinds = map[string]bool{
		"client.capability.interaction_request": true,
		"client.capability.interaction_result":  true,
	}
	// kindOfFrame is the inverse of the two maps.
	kindOfFrame = func() map[reflect.Type]string {
		out := make(map[reflect.Type]string, len(clientKinds)+len(hostKinds))
		for _, kinds := range []map[string]reflect.Type{clientKinds, hostKinds} {
			for kind, t := range kinds {
				out[t] = kind
			}
		}
		return out
	}()
)

const (
	capabilityPrefix   = "client.capability."
	subscriptionPrefix = "subscription."
)

// operation is what this package knows of one operation; without types it is
// only named.
type operation struct{ input, result reflect.Type }

func typed[I, R any]() operation {
	return operation{reflect.TypeFor[I](), reflect.TypeFor[R]()}
}

var operations = map[Operation]operation{
	OpHostStatus:               typed[HostStatusInput, HostStatusResult](),
	OpSessionCatalogQuery:      typed[SessionCatalogQueryInput, SessionCatalogQueryResult](),
	OpSessionCreate:            typed[SessionCreateInput, SessionItem](),
	OpSessionRemove:            typed[SessionRemoveInput, SessionRemoveResult](),
	OpSessionMetadataUpdate:    typed[SessionMetadataUpdateInput, SessionUpdateResult](),
	OpSessionConfigUpdate:      typed[SessionConfigurationUpdateInput, SessionUpdateResult](),
	OpProjectCatalogQuery:      typed[ProjectCatalogQueryInput, ProjectCatalogQueryResult](),
	OpSubscriptionOpen:         typed[SubscriptionOpenInput, SubscriptionOpenResult](),
	OpSubscriptionClose:        typed[SubscriptionCloseInput, SubscriptionCloseResult](),
	OpTranscriptPage:           typed[TranscriptPageInput, TranscriptPage](),
	OpTranscriptOverlayRelease: typed[TranscriptOverlayReleaseInput, TranscriptOverlayReleaseResult](),
	OpTurnStart:                typed[TurnStartInput, TurnStartResult](),
	OpTurnQuery:                typed[TurnQueryInput, TurnSnapshot](),
	OpTurnStop:                 typed[TurnStopInput, TurnSnapshot](),
	OpTurnMessageSubmit:        typed[TurnMessageSubmitInput, TurnMessageSubmitResult](),
	OpTurnInterrupt:            typed[TurnInterruptInput, TurnInterruptResult](),
	OpQueueRetract:             typed[QueueRetractInput, QueueRetractResult](),
	OpInteractionQuery:         typed[InteractionQueryInput, Interaction](),
	OpInteractionAnswer:        typed[InteractionAnswerInput, Interaction](),
	OpCapabilityReplace:        typed[CapabilityReplaceInput, CapabilityReplaceResult](),
	OpCapabilityUnregister:     typed[CapabilityUnregisterInput, CapabilityUnregisterResult](),

	OpHostDiagnosticsQuery:     {},
	OpAccessCredentialRevoke:   {},
	OpAccessCredentialIssue:    {},
	OpAccessCredentialPrepare:  {},
	OpAccessCredentialFinalize: {},
	OpConnectionCatalogQuery:   {},
	OpCredentialVaultQuery:     {},
	OpRuntimePolicyQuery:       {},
	OpSkillCatalogQuery:        {},
	OpExecutionBoundaryQuery:   {},
}

// Known reports whether the protocol names op. A request for any other
// operation ends the connection.
func (op Operation) Known() bool {
	_, ok := operations[op]
	return ok
}

// Typed reports whether this package knows op's input and result.
func (op Operation) Typed() bool { return operations[op].input != nil }
