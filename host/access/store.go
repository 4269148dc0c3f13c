package access

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	// lockWait bounds how long a change waits for another process to finish its own.
	lockWait  = 5 * time.Second
	lockRetry = 20 * time.Millisecond
	// settle is how old a file must be before its time stamp alone is believed: two changes within the clock's
	// granularity can leave the same stamp and size.
	settle = 2 * time.Second
)

// A Store holds credentials, in a file or in memory. All methods may be called at the same time.
type Store struct {
	path string // "" keeps them in memory
	wake chan struct{}

	mu      sync.Mutex
	entries []entry
	info    fs.FileInfo // of the file that entries came from; nil: there was none
	read    time.Time
	handed  map[string]Credential // verified at least once and not reported as ended
}

// Open returns the store in the file at path, which need not exist yet. A file that cannot be read or understood is an
// error that names it, and it is left as it is.
func Open(path string) (*Store, error) {
	s := &Store{path: path, wake: make(chan struct{}, 1), handed: map[string]Credential{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reload(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	if s.info != nil && s.info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // best effort: whoever can write it lets himself in
	}
	return s, nil
}

// Ephemeral returns a store in memory, for a Host that ends with its process.
func Ephemeral() *Store {
	return &Store{wake: make(chan struct{}, 1), handed: map[string]Credential{}}
}

// Add makes a credential and returns its token, which is kept nowhere. A lifetime of zero is for ever; a name that is
// taken is ErrExists, unless its credential has expired.
func (s *Store) Add(name string, role Role, lifetime time.Duration) (token string, err error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if role.Grants() == (Grants{}) {
		return "", fmt.Errorf("role %q is unknown: use client, provider or both", role)
	}
	if lifetime < 0 {
		return "", fmt.Errorf("token %q: a lifetime of %v has ended already", name, lifetime)
	}
	token = newToken()
	now := time.Now().UTC()
	e := entry{Credential{ID: newID(), Name: name, Role: role, Grants: role.Grants(), Created: now}, digestOf(token)}
	if lifetime > 0 {
		e.Expires = now.Add(lifetime)
	}
	err = s.change(func(entries []entry) ([]entry, error) {
		if i := indexName(entries, name); i >= 0 {
			if !entries[i].Expired(now) {
				return nil, fmt.Errorf("token %q: %w: revoke it first", name, ErrExists)
			}
			entries = slices.Delete(entries, i, i+1)
		}
		if len(entries) >= MaxCredentials {
			return nil, fmt.Errorf("token %q: %w: at most %d, revoke one first", name, ErrFull, MaxCredentials)
		}
		return append(entries, e), nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Revoke ends the credential of that name. Live connections of a running Host drop within a second.
func (s *Store) Revoke(name string) error {
	return s.change(func(entries []entry) ([]entry, error) {
		i := indexName(entries, name)
		if i < 0 {
			return nil, fmt.Errorf("token %q: %w", name, ErrNotFound)
		}
		return slices.Delete(entries, i, i+1), nil
	})
}

// List returns all credentials, expired ones included, in the order in which they were added.
func (s *Store) List() ([]Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refresh()
	list := make([]Credential, len(s.entries))
	for i, e := range s.entries {
		list[i] = e.Credential
	}
	return list, err
}

// Verify returns the credential of a token that was issued, is not revoked and has not expired. It compares in constant
// time and knows of changes by other processes at once. Whoever keeps a connection open for the credential asks Live
// once more after putting it where Watch's drop will find it.
func (s *Store) Verify(token string) (Credential, bool) {
	if !WellFormed(token) {
		return Credential{}, false
	}
	sum := digestOf(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.refresh() // an unreadable file is Watch's to report; what was read last still counts
	found := -1
	for i := range s.entries {
		if subtle.ConstantTimeCompare(sum[:], s.entries[i].hash[:]) == 1 {
			found = i
		}
	}
	if found < 0 || s.entries[found].Expired(time.Now()) {
		return Credential{}, false
	}
	c := s.entries[found].Credential
	s.handed[c.ID] = c
	return c, true
}

// Live reports whether the credential with that ID still counts, as far as this process has read.
func (s *Store) Live(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live(id, time.Now())
}

func (s *Store) live(id string, now time.Time) bool {
	i := slices.IndexFunc(s.entries, func(e entry) bool { return e.ID == id })
	return i >= 0 && !s.entries[i].Expired(now)
}

func indexName(entries []entry, name string) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.Name == name })
}

// change applies edit to the newest credentials and stores what it returns, under the lock file.
func (s *Store) change(edit func([]entry) ([]entry, error)) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reload(); err != nil {
		return fmt.Errorf("access: %w", err)
	}
	next, err := edit(slices.Clone(s.entries))
	if err != nil {
		return err
	}
	if s.path != "" {
		if err := writeEntries(s.path, next); err != nil {
			return fmt.Errorf("access: %w", err)
		}
	}
	s.entries = next
	s.info = nil // read again: the stamp is not ours to guess
	s.nudge()
	return nil
}

// lock takes the lock file beside the tokens, making their folder if there is none.
func (s *Store) lock() (unlock func(), err error) {
	if s.path == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	l := flock.New(s.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	ok, err := l.TryLockContext(ctx, lockRetry)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("access: %s: %w", s.path, ErrBusy)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("access: %s.lock: %w", s.path, err)
	}
	return func() { l.Close() }, nil
}

// refresh reads the file again when it may have changed.
func (s *Store) refresh() error {
	if s.path == "" {
		return nil
	}
	info, err := os.Stat(s.path)
	if err == nil && s.info != nil && os.SameFile(info, s.info) && info.Size() == s.info.Size() &&
		info.ModTime().Equal(s.info.ModTime()) && s.read.Sub(info.ModTime()) > settle {
		return nil
	}
	return s.reload()
}

func (s *Store) reload() error {
	if s.path == "" {
		return nil
	}
	now := time.Now()
	entries, info, err := readEntries(s.path)
	if err != nil {
		return err
	}
	s.entries, s.info, s.read = entries, info, now
	return nil
}

func (s *Store) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
