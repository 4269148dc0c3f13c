// Package access keeps the credentials of a Runtime Host: who may connect and what for.
//
// A credential is a random token that is shown once, when it is made. Only its SHA-256 is kept, in a file that a
// running Host rereads, so that a token added or revoked by another process counts within a second.
package access

import (
	"errors"
	"fmt"
	"time"
)

// A Role is what a credential was issued for.
type Role string

const (
	// RoleClient is an owner that cannot publish capabilities: a view.
	RoleClient Role = "client"
	// RoleProvider is a capability provider: it publishes tools, which run in every session, and does nothing else.
	RoleProvider Role = "provider"
	// RoleBoth is an owner that may publish; its tools run only in sessions with the bypass boundary.
	RoleBoth Role = "both"
)

// ParseRole returns the role of that name; the empty name is RoleClient.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case "":
		return RoleClient, nil
	case RoleClient, RoleProvider, RoleBoth:
		return r, nil
	}
	return "", fmt.Errorf("role %q is unknown: use client, provider or both", s)
}

// Grants says what a credential allows.
type Grants struct {
	// Owner may use every served operation but publication.
	Owner bool
	// Publish may publish and withdraw client capabilities.
	Publish bool
	// Trusted marks a capability provider: its tools need no bypass boundary, and it may publish only
	// path-independent capabilities of session affinity.
	Trusted bool
	// HostPaths may name or be told paths of the Host. No role grants it.
	HostPaths bool
}

// Grants returns what the role allows. An unknown role allows nothing.
func (r Role) Grants() Grants {
	switch r {
	case RoleClient:
		return Grants{Owner: true}
	case RoleProvider:
		return Grants{Publish: true, Trusted: true}
	case RoleBoth:
		return Grants{Owner: true, Publish: true}
	}
	return Grants{}
}

// A Credential is what is known of a token without the token.
type Credential struct {
	// ID is the principal: minted with the token, never reused, not secret.
	ID string
	// Name is what the owner called it; it is safe to show.
	Name   string
	Role   Role
	Grants Grants
	// Created and Expires are in UTC; a zero Expires is never.
	Created, Expires time.Time
}

// Expired reports whether the credential has ended by itself at now.
func (c Credential) Expired(now time.Time) bool {
	return !c.Expires.IsZero() && !now.Before(c.Expires)
}

// Limits of the credential store.
const (
	MaxCredentials = 256 // at most so many, expired ones included
	MaxName        = 64  // bytes of a name
)

// Errors that a caller may test for.
var (
	ErrExists   = errors.New("a token of this name exists")
	ErrNotFound = errors.New("no token of this name")
	ErrFull     = errors.New("too many tokens")
	ErrBusy     = errors.New("another process is changing the tokens")
)

// CheckName reports what is wrong with a credential's name: 1 to 64 of A-Za-z0-9_.- that starts with a letter or digit.
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("token name: use 1 to %d characters, not %d", MaxName, len(name))
	}
	for i, c := range []byte(name) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '_' && c != '.' && c != '-') {
			return fmt.Errorf("token name %q: use letters, digits, '_', '.' and '-', starting with a letter or digit", name)
		}
	}
	return nil
}
