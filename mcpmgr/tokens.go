package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"askback/internal/atomicfile"
	"askback/mcpmgr/config"

	"github.com/gofrs/flock"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// grant is what is kept of one authorization: the tokens, and what it takes to renew them.
type grant struct {
	Token        *oauth2.Token    `json:"token"`
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	TokenURL     string           `json:"tokenUrl"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
}

func grantOfToken(cfg *oauth2.Config, tok *oauth2.Token) *grant {
	return &grant{Token: tok, ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret, TokenURL: cfg.Endpoint.TokenURL,
		AuthStyle: cfg.Endpoint.AuthStyle, Scopes: cfg.Scopes}
}

// authStore keeps grants by the address they were given for: in a file that only its owner can
// read, replaced atomically under a lock, or in memory where no file was named.
type authStore struct {
	path string
	mu   sync.Mutex
	mem  map[string]*grant
}

func newAuthStore(path string) *authStore { return &authStore{path: path, mem: map[string]*grant{}} }

// handler gives a link the tokens for its server, or nil where there are none. It never starts an
// authorization.
func (a *authStore) handler(cfg config.Server) auth.OAuthHandler {
	g, err := a.load(cfg.URL)
	if err != nil || g == nil {
		return nil
	}
	return keptAuth{a.source(renewing(), cfg.URL, g)}
}

// keptAuth is an OAuthHandler that can only use what it has.
type keptAuth struct{ src oauth2.TokenSource }

func (k keptAuth) TokenSource(context.Context) (oauth2.TokenSource, error) { return k.src, nil }

func (k keptAuth) Authorize(context.Context, *http.Request, *http.Response) error {
	return errors.New("authorization starts by the user's own act")
}

// source renews tokens when they expire, and keeps the new ones.
func (a *authStore) source(ctx context.Context, endpoint string, g *grant) oauth2.TokenSource {
	k := &keeper{a: a, ctx: ctx, endpoint: endpoint}
	k.use(g)
	return k
}

// renew gets a new token for a server that refuses the kept one before its time, and reports
// whether there is one.
func (a *authStore) renew(cfg config.Server) bool {
	g, err := a.load(cfg.URL)
	if err != nil || g == nil || g.Token.RefreshToken == "" {
		return false
	}
	old := *g.Token
	old.Expiry = time.Unix(1, 0)
	_, err = a.source(renewing(), cfg.URL, g.with(&old)).Token()
	return err == nil
}

// renewing is the context of requests to authorization servers that renew a token.
func renewing() context.Context {
	return context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: authPage, Transport: cappedTransport{http.DefaultTransport}})
}

// with is the grant with another token.
func (g *grant) with(tok *oauth2.Token) *grant {
	n := *g
	n.Token = tok
	return &n
}

type keeper struct {
	a        *authStore
	ctx      context.Context // for the requests that renew
	endpoint string

	mu  sync.Mutex
	g   *grant
	src oauth2.TokenSource
}

var errExpired = errors.New("the token has expired and there is none to renew it")

func (k *keeper) use(g *grant) {
	cfg := &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle}}
	k.g, k.src = g, cfg.TokenSource(k.ctx, g.Token)
}

func (k *keeper) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	tok, err := k.renewed()
	if err != nil { // another process may have been first, and then our refresh token is spent
		if g, lerr := k.a.load(k.endpoint); lerr == nil && g != nil && g.Token.AccessToken != k.g.Token.AccessToken {
			k.use(g)
			tok, err = k.renewed()
		}
	}
	return tok, err
}

// renewed returns the token, a new one where the old one has expired.
func (k *keeper) renewed() (*oauth2.Token, error) {
	if k.g.Token.RefreshToken == "" && !k.g.Token.Valid() {
		return nil, errExpired
	}
	tok, err := k.src.Token()
	if err != nil {
		return nil, err
	}
	if tok.AccessToken != k.g.Token.AccessToken {
		old := k.g.Token.AccessToken
		k.g = k.g.with(tok)
		_ = k.a.replace(k.endpoint, old, k.g) // a token that cannot be kept still serves
	}
	return tok, nil
}

type tokenFile struct {
	Version int               `json:"version"`
	Servers map[string]*grant `json:"servers"`
}

func (a *authStore) load(endpoint string) (*grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.path == "" {
		return a.mem[endpoint], nil
	}
	f, err := a.read()
	if err != nil {
		return nil, err
	}
	g := f.Servers[endpoint]
	if g == nil || g.Token == nil {
		return nil, nil
	}
	return g, nil
}

func (a *authStore) save(endpoint string, g *grant) error {
	return a.update(func(all map[string]*grant) { all[endpoint] = g })
}

// replace keeps a renewed token, unless what it renews was forgotten meanwhile, or another program
// has an authorization that may reach further.
func (a *authStore) replace(endpoint, old string, g *grant) error {
	return a.update(func(all map[string]*grant) {
		if kept := all[endpoint]; kept != nil && kept.Token != nil && kept.Token.AccessToken == old {
			all[endpoint] = g
		}
	})
}

func (a *authStore) forget(endpoint string) error {
	return a.update(func(all map[string]*grant) { delete(all, endpoint) })
}

func (a *authStore) update(change func(map[string]*grant)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.path == "" {
		change(a.mem)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return fmt.Errorf("the token file's folder cannot be made: %w", err)
	}
	lock := flock.New(a.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil || !ok {
		return errors.New("the token file is in use by another program")
	}
	defer lock.Unlock()
	f, err := a.read()
	if err != nil {
		return err
	}
	change(f.Servers)
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(a.path, append(data, '\n')); err != nil {
		return fmt.Errorf("the token file cannot be written: %w", err)
	}
	return nil
}

func (a *authStore) read() (*tokenFile, error) {
	f := &tokenFile{Version: 1}
	data, err := os.ReadFile(a.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("the token file cannot be read: %w", err)
	case json.Unmarshal(data, f) != nil || f.Version != 1:
		return nil, fmt.Errorf("the token file %s is not one of ours; move it away", a.path)
	}
	if f.Servers == nil {
		f.Servers = map[string]*grant{}
	}
	return f, nil
}
