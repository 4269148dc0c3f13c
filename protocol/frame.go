package protocol

// Frame is anything that one message can hold.
type Frame interface{ frame() }

// ClientFrame is a frame that a client sends. Only pointers implement it.
type ClientFrame interface {
	Frame
	clientFrame()
}

// HostFrame is a frame that a Host sends. Only pointers implement it.
type HostFrame interface {
	Frame
	hostFrame()
}

// SubscriptionFrame is a HostFrame that belongs to one subscription.
type SubscriptionFrame interface {
	HostFrame
	// Header is the frame's place in its subscription.
	Header() *SubscriptionHeader
}

// UnknownFrame is a frame whose kind this package does not know and nothing
// acts on: a broadcast or a subscription frame of a newer Host. A subscription
// frame keeps its place in the sequence; otherwise the header is zero. A
// capability frame is never unknown, it is malformed.
type UnknownFrame struct {
	Kind string
	SubscriptionHeader
}

func (*UnknownFrame) frame()     {}
func (*UnknownFrame) hostFrame() {}

// HasHeader reports whether the frame belongs to a subscription.
func (f *UnknownFrame) HasHeader() bool { return f.SubscriptionID != "" }
