package hostclient

import (
	"context"
	"log/slog"
	"net"

	"askback/protocol"
)

// Options say which Host to talk to and as whom. They are copied.
type Options struct {
	// URL is ws:// or wss://; without a path it gets DefaultPath. Plain ws is for loopback, unless Insecure or NetDial.
	URL string
	// Token is asked before each dial, so that a renewed token is used; its result goes into a header and nowhere else.
	Token func() (string, error)
	// NetDial, when set, makes the network connection: the way to a Host inside this process.
	NetDial func(ctx context.Context, network, address string) (net.Conn, error)
	// CAFile, when set, holds the PEM certificates that are trusted instead of the system's.
	CAFile string
	// Insecure allows plain ws to any address. The token then crosses the network in clear text.
	Insecure bool
	// InstanceID is the clientInstanceId; "" makes one for this process. Both connections of a process share it.
	InstanceID string
	// Pins remembers each Host's root; nil remembers none.
	Pins *Pins
	// Dialects are offered in this order; nil means epoch 81, then 39.
	Dialects []protocol.Dialect
	// Logger gets connection events, never contents; nil discards.
	Logger *slog.Logger
}

// HostInfo is what a Host said of itself when it accepted the connection.
type HostInfo struct {
	RootID              string
	HostEpoch           string // changes with every start of the Host
	ConnectionID        string
	Dialect             protocol.Dialect
	CompositionRevision string
}

// Forms reports whether forms can reach a person over this connection.
func (h HostInfo) Forms() bool { return h.Dialect.Forms() }
