package hostclient

import (
	"crypto/rand"

	"askback/protocol"
)

// newID mints an entity id (letters, digits, dash): prefix and 26 random characters of base 32.
func newID(prefix string) string { return prefix + rand.Text() }

// NewID mints an id for a session, turn, message or registration, which clients mint in this protocol.
func NewID() string { return newID("") }

// validID reports whether s is an entity id: 1 to 128 of A-Z a-z 0-9 _ -.
func validID(s string) bool {
	if s == "" || len(s) > protocol.MaxID {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
