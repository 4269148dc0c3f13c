package mcpmgr

import (
	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

type authStore struct{ path string }

func newAuthStore(path string) *authStore { return &authStore{path: path} }

func (a *authStore) handler(config.Server) auth.OAuthHandler { return nil }
