package protocol

import "strconv"

// Dialect is the compatibility epoch that a connection speaks.
type Dialect int

const (
	// Dialect39 is the protocol without forms.
	Dialect39 Dialect = 39
	// Dialect81 adds the nested interaction frames, the form Interaction and
	// two closure reasons.
	Dialect81 Dialect = 81
)

// Valid reports whether d is a dialect that this package speaks.
func (d Dialect) Valid() bool { return d == Dialect39 || d == Dialect81 }

// Forms reports whether forms exist in d.
func (d Dialect) Forms() bool { return d >= Dialect81 }

func (d Dialect) String() string { return "epoch " + strconv.Itoa(int(d)) }
