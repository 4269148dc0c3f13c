package protocol

// SnapshotSchemaVersion is the schemaVersion of a Snapshot.
const SnapshotSchemaVersion = 4

// SnapshotSession is the session as a subscription shows it.
type SnapshotSession struct {
	SessionID        string        `json:"sessionId"`
	MetadataRevision int64         `json:"metadataRevision"`
	Status           SessionStatus `json:"status"`
	CreatedAt        int64         `json:"createdAt"`
	LastUsedAt       int64         `json:"lastUsedAt"`
	IsArchived       bool          `json:"isArchived"`
}

// Queue is what waits in a session.
type Queue struct {
	HostEpoch     string       `json:"hostEpoch"`
	QueueRevision int64        `json:"queueRevision"`
	Steering      []QueueEntry `json:"steering"`
	Followup      []QueueEntry `json:"followup"`
}

// Interactions are the questions that wait for a person.
type Interactions struct {
	Pending []Interaction `json:"pending"`
}

// Snapshot is the complete state of an open session, never a patch.
type Snapshot struct {
	_                  struct{}        `wire:"open"`
	SchemaVersion      int             `json:"schemaVersion"`
	Session            SnapshotSession `json:"session"`
	ProjectionRevision int64           `json:"projectionRevision"`
	RootTurn           *TurnSnapshot   `json:"rootTurn" wire:"null"`
	Goal               RawMessage      `json:"goal" wire:"null"`
	Queue              Queue           `json:"queue"`
	Interactions       Interactions    `json:"interactions"`
}

// For returns s as a connection of dialect d may see it: without forms where
// they do not exist. The receiver is not changed.
func (s Snapshot) For(d Dialect) Snapshot {
	if d.Forms() {
		return s
	}
	var kept []Interaction
	for _, in := range s.Interactions.Pending {
		if in.Request == nil || in.Request.Kind() != KindForm {
			kept = append(kept, in)
		}
	}
	s.Interactions.Pending = kept
	return s
}
