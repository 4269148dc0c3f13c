package protocol

// HostState is where a Host is in its life.
type HostState string

const (
	HostStarting   HostState = "starting"
	HostContaining HostState = "containing"
	HostRecovering HostState = "recovering"
	HostReady      HostState = "ready"
	HostDraining   HostState = "draining"
)

// Known reports whether s is in the protocol's list.
func (s HostState) Known() bool {
	switch s {
	case HostStarting, HostContaining, HostRecovering, HostReady, HostDraining:
		return true
	}
	return false
}

// Hello is a client's first frame, the only client frame in which unknown keys
// are tolerated.
type Hello struct {
	_                  struct{} `wire:"extra"`
	ClientInstanceID   string   `json:"clientInstanceId" wire:"plain"`
	ProtocolMin        int      `json:"protocolMin" wire:"min=0,max=1000000"`
	ProtocolMax        int      `json:"protocolMax" wire:"min=0,max=1000000"`
	CompatibilityEpoch int      `json:"compatibilityEpoch" wire:"opt,min=0,max=1000000"`
	// CompositionID absent means CompositionID; decoding leaves it "".
	CompositionID string `json:"compositionId" wire:"opt,len=1:128,composition"`
	Generation    string `json:"generation" wire:"opt,plain"`
	// Takeover needs Generation; it is for local use.
	Takeover RawMessage `json:"takeover" wire:"opt,object"`
}

// Accepted ends the handshake well. The connection speaks CompatibilityEpoch.
type Accepted struct {
	RootID              string    `json:"rootId" wire:"plain"`
	HostEpoch           string    `json:"hostEpoch" wire:"plain"`
	ConnectionID        string    `json:"connectionId" wire:"plain"`
	SelectedProtocol    int       `json:"selectedProtocol" wire:"min=0"`
	CompatibilityEpoch  Dialect   `json:"compatibilityEpoch" wire:"min=0,max=1000000"`
	CompositionID       string    `json:"compositionId" wire:"plain"`
	CompositionRevision string    `json:"compositionRevision" wire:"plain"`
	State               HostState `json:"state"`
}

// Incompatible ends the handshake; the Host then closes with 1000.
type Incompatible struct {
	_                   struct{}   `wire:"open"`
	HostEpoch           string     `json:"hostEpoch" wire:"plain"`
	ProtocolMin         int        `json:"protocolMin"`
	ProtocolMax         int        `json:"protocolMax"`
	CompatibilityEpoch  int        `json:"compatibilityEpoch" wire:"min=0,max=1000000"`
	CompositionID       string     `json:"compositionId"`
	CompositionRevision string     `json:"compositionRevision"`
	State               HostState  `json:"state"`
	Replacement         string     `json:"replacement" wire:"opt"`
	Generation          RawMessage `json:"generation" wire:"opt"`
	Activity            RawMessage `json:"activity" wire:"opt"`
}

// Values of Incompatible.Replacement.
const (
	ReplacementBlocked  = "blocked_by_residency"
	ReplacementWaitIdle = "wait_for_idle_exit"
)

// Draining ends the handshake: the Host is leaving.
type Draining struct {
	_                   struct{} `wire:"open"`
	HostEpoch           string   `json:"hostEpoch"`
	CompositionID       string   `json:"compositionId"`
	CompositionRevision string   `json:"compositionRevision"`
}

func (*Hello) frame()            {}
func (*Hello) clientFrame()      {}
func (*Accepted) frame()         {}
func (*Accepted) hostFrame()     {}
func (*Incompatible) frame()     {}
func (*Incompatible) hostFrame() {}
func (*Draining) frame()         {}
func (*Draining) hostFrame()     {}
