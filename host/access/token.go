package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// TokenPrefix begins every token of this Host; 43 base64url characters follow, which are 32 random bytes.
const TokenPrefix = "askb_rh_"

const (
	tokenBytes = 32
	tokenChars = 43 // 32 bytes in unpadded base64url
	idBytes    = 16
)

type digest [sha256.Size]byte

func newToken() string {
	var b [tokenBytes]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

func newID() string {
	var b [idBytes]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// WellFormed reports whether s has the shape of a token. It says nothing about whether one was issued.
func WellFormed(s string) bool {
	body, ok := strings.CutPrefix(s, TokenPrefix)
	if !ok || len(body) != tokenChars {
		return false
	}
	// Strict: the last character has two bits that must be zero, so that a token has one spelling.
	b, err := base64.RawURLEncoding.Strict().DecodeString(body)
	return err == nil && len(b) == tokenBytes
}

func digestOf(token string) digest { return sha256.Sum256([]byte(token)) }
