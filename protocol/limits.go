package protocol

import "time"

// Transport limits (wire protocol, 2.3 and 3).
const (
	// MaxFrameBytes is the largest message in either direction; one byte more
	// closes the connection with 1009.
	MaxFrameBytes = 786_432
	// MaxFragments is how many WebSocket fragments a client's message may come in.
	MaxFragments = 256
	// MaxInboundFrames and MaxInboundBytes bound what a Host holds unprocessed
	// beyond the frame it is working on, before it drops the connection.
	MaxInboundFrames = 64
	MaxInboundBytes  = 2 << 20
	// MaxOutboundFrames and MaxOutboundBytes bound what waits for one connection.
	MaxOutboundFrames = 64
	MaxOutboundBytes  = 2 << 20
	// HelloTimeout is how long a Host waits for the first frame.
	HelloTimeout = 5 * time.Second
	// MaxJSONDepth is the nesting that this codec reads; a bound of ours, far
	// above what any operation needs.
	MaxJSONDepth = 256
	// WebSocketPath is where a Host listens unless it was told otherwise.
	WebSocketPath = "/runtime-host"
	// CompositionID is the only composition that this project speaks.
	CompositionID = "maka.interactive"
	// MaxCompatibilityEpoch is the largest epoch a hello may carry.
	MaxCompatibilityEpoch = 1_000_000
)

// Requests and subscriptions (wire protocol, 4 to 6).
const (
	// MaxRequestsInFlight counts requests without an answer; one host.status is
	// allowed on top of them.
	MaxRequestsInFlight = 64
	// MaxErrorMessage counts UTF-16 units of an error's message.
	MaxErrorMessage = 1024
	// MaxID counts UTF-16 units of an entity id or a plain id.
	MaxID = 128
	// MaxSubscriptions is per connection.
	MaxSubscriptions = 16
	// MaxSubscriptionFrameBytes bounds one subscription frame.
	MaxSubscriptionFrameBytes = 65_535
	// MaxSnapshotBytes bounds the JSON of one snapshot.
	MaxSnapshotBytes = 56 << 10
	// MaxDeltaBytes bounds the text of one session_delta.
	MaxDeltaBytes = 16 << 10
	// MaxSubscriberFrames and MaxSubscriberBytes are what may wait for one
	// subscriber before it is a slow consumer.
	MaxSubscriberFrames = 32
	MaxSubscriberBytes  = 256 << 10
	// MinTailBytes and MaxTailBytes bound subscription.open's tail.
	MinTailBytes = 2
	MaxTailBytes = 16_384
	// MaxPageBytes and MaxPageRows bound one session.transcript.page.
	MaxPageBytes = 512 << 10
	MaxPageRows  = 256
	// MaxCatalogItems and MaxCatalogBytes bound one page of a catalog.
	MaxCatalogItems = 32
	MaxCatalogBytes = 48 << 10
	// MaxQueueEntries bounds steering and follow-up entries together.
	MaxQueueEntries = 64
	// MaxTextBytes bounds the text of a Turn, MaxContentBytes its whole content.
	MaxTextBytes    = 48 << 10
	MaxContentBytes = 52 << 10
	// MaxAttachments and MaxQuotes bound the lists of a Turn's content.
	MaxAttachments = 8
	MaxQuotes      = 16
	// MaxFailureMessageBytes bounds a failed Turn's failureMessage.
	MaxFailureMessageBytes = 256
)

// Interactions (wire protocol, 6.1; forms dialect).
const (
	MaxPendingInteractions = 16
	MaxQuestions           = 3
	MinQuestionOptions     = 2
	MaxQuestionOptions     = 3
	MaxQuestionAnswerBytes = 2 << 10
	// MaxAsksPerInvocation is how often one invocation may ask.
	MaxAsksPerInvocation = 256
	// InteractionTimeout closes a form that nobody answers.
	InteractionTimeout = 24 * time.Hour
)

// Publishing Client Capabilities (wire protocol, 7.1). Texts count UTF-16 units.
const (
	MaxOffers           = 32
	MaxServices         = 32
	MaxToolsPerOffer    = 64
	MaxTools            = 256      // of all offers together
	MaxManifestBytes    = 56 << 10 // JSON of one client.capability.replace input
	MaxSchemaBytes      = 32 << 10 // JSON of one inputSchema
	MaxLabel            = 128
	MaxOfferDescription = 1024
	MaxToolDescription  = 8192
	MaxVersion          = 64
	MaxName             = 128 // of a tool, and of a serverId
)

// One invocation (wire protocol, 7.2).
const (
	// MaxActiveInvocations is per provider connection.
	MaxActiveInvocations = 8
	// InvocationTimeout runs from dispatch; only a pending form stops it.
	InvocationTimeout = 150 * time.Second
	// MaxProgressTotal is the largest total of steps.
	MaxProgressTotal = 1024
	// MaxInlineResultBytes bounds the JSON of a result in one frame; from
	// ChunkThresholdBytes on the official client sends it in chunks.
	MaxInlineResultBytes = 40_960
	ChunkThresholdBytes  = 32 << 10
	// MaxResultBytes bounds the JSON of a result in chunks, each of exactly
	// ChunkBytes but for the last.
	MaxResultBytes = 24 << 20
	ChunkBytes     = 36_864
	// MaxCapabilityMessage counts UTF-16 units of a rejection or failure.
	MaxCapabilityMessage = 4096
	// MaxContentBlocks bounds the content of a result.
	MaxContentBlocks = 256
	// MaxRetiredInvocations is how many ended ids a Host knows as such.
	MaxRetiredInvocations = 1024
	// MaxModelText counts characters of a result that a model sees, MaxModelImages
	// its images.
	MaxModelText   = 200_000
	MaxModelImages = 4
)

// Who asks (form contract); a stored, projected text may be ProjectionGrowth
// times its limit.
const (
	MaxRequesterNameBytes   = 256
	MaxRequesterSourceBytes = 512
	ProjectionGrowth        = 4
)
