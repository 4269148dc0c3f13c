package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"askback/internal/atomicfile"
)

// StoreFile is the name of the database inside the store folder.
const StoreFile = "host.db"

// lockWait is how long a second Host waits for the file before it is refused.
const lockWait = time.Second

// maxGroup bounds how many queued writes share one transaction.
const maxGroup = 256

var (
	// ErrStoreInUse is returned by Open when another process holds the store.
	ErrStoreInUse = errors.New("another Host is using this store")

	errStoreClosed = errors.New("the store is closed")
	errLayout      = errors.New("the store was written by another version")
	errReplaced    = errors.New("the file of the store was removed or replaced while the Host ran: what it would write now is nowhere")
)

// store is the durable side of the Host: one bbolt file and one goroutine that
// commits. Writers queue closures; whatever has queued up while one commit was
// being synced shares the next, so the cost of a sync is divided among sessions.
// write returns only once its closure is on disk.
type store struct {
	db   *bolt.DB
	dir  string
	path string      // of the file itself
	file os.FileInfo // what db has open and locked

	// fail lets a test refuse a write; nil outside tests.
	fail func() error

	mu     sync.Mutex
	queue  []*storeWrite
	wake   chan struct{}
	closed bool
	done   chan struct{}
}

type storeWrite struct {
	fn   func(*bolt.Tx) error
	done chan error
}

// openStore opens or creates the database in dir. When the file is there but cannot
// be trusted it is renamed, its new path is returned as aside with the reason, and a
// fresh database takes its place; nothing is ever emptied in place.
func openStore(dir string) (s *store, aside *SetAside, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the store folder: %w", err)
	}
	path := atomicfile.Target(filepath.Join(dir, StoreFile))
	emptied := isEmptyFile(path)
	db, file, err := openDatabase(path)
	if err == nil && emptied {
		aside = noteEmptied(path)
	}
	if err != nil && !errors.Is(err, ErrStoreInUse) && isDamaged(err) {
		if aside, err = setAside(path, err); err != nil {
			return nil, nil, err
		}
		db, file, err = openDatabase(path)
	}
	if err != nil {
		return nil, aside, fmt.Errorf("open the store %s: %w", path, err)
	}
	s = &store{db: db, dir: dir, path: path, file: file, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.commitLoop()
	return s, aside, nil
}

// inPlace reports whether the file that is open is still what the store's path leads to.
func (s *store) inPlace() bool {
	now, err := os.Stat(s.path)
	return err == nil && os.SameFile(now, s.file)
}

func isEmptyFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// noteEmptied tells of a store whose file was there without a byte: it was torn, or a Host ended while it made it. There
// is nothing in it to keep, so its name is kept alone; the file itself is not moved, since another Host may be making it.
func noteEmptied(path string) *SetAside {
	moved := damagedName(path)
	if f, err := os.OpenFile(moved, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		f.Close()
	}
	return &SetAside{Path: path, MovedTo: moved, Reason: "the file was empty"}
}

func damagedName(path string) string {
	return fmt.Sprintf("%s.damaged-%s", path, time.Now().UTC().Format("20060102T150405.000000000"))
}

// setAside keeps a damaged store under another name.
func setAside(path string, reason error) (*SetAside, error) {
	moved := damagedName(path)
	if err := os.Rename(path, moved); err != nil {
		return nil, fmt.Errorf("the store %s is damaged (%v) and cannot be set aside: %w", path, reason, err)
	}
	return &SetAside{Path: path, MovedTo: moved, Reason: reason.Error()}, nil
}

// replace sets the store aside, for what was found in it, and opens a fresh one in its place. Its file is left as it is.
func (s *store) replace(reason error) (*store, *SetAside, error) {
	if err := s.end(false); err != nil {
		return nil, nil, err
	}
	aside, err := setAside(s.path, reason)
	if err != nil {
		return nil, nil, err
	}
	fresh, _, err := openStore(s.dir)
	return fresh, aside, err
}

// SetAside tells that a damaged store was kept under another name.
type SetAside struct {
	Path    string // where the store was, and where a new one is now
	MovedTo string // where the damaged file is kept
	Reason  string
}

func (a *SetAside) Error() string {
	return fmt.Sprintf("the store %s was damaged (%s); it is kept as %s and a new one was started", a.Path, a.Reason, a.MovedTo)
}

type damagedError struct{ err error }

func (e damagedError) Error() string { return e.err.Error() }
func (e damagedError) Unwrap() error { return e.err }

func isDamaged(err error) bool {
	_, ok := errors.AsType[damagedError](err)
	return ok || errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) ||
		errors.Is(err, berrors.ErrVersionMismatch)
}

// refusedBySystem reports whether an error is the operating system's (no permission, no space, no more open files, a read-only
// disk). It says nothing about what is in the file, which is left where it is.
func refusedBySystem(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

func openDatabase(path string) (*bolt.DB, os.FileInfo, error) {
	info, statErr := os.Stat(path)
	existed := statErr == nil && info.Size() > 0
	if existed && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600) // best effort: it holds answers
	}
	db, file, err := guardOpen(path)
	if err != nil {
		switch {
		case errors.Is(err, berrors.ErrTimeout):
			return nil, nil, ErrStoreInUse
		case existed && !refusedBySystem(err):
			return nil, nil, damagedError{err}
		}
		return nil, nil, err
	}
	if existed {
		if err := verify(db, info.Size()); err != nil {
			db.Close()
			return nil, nil, damagedError{err}
		}
	}
	if err := guarded(func() error { return prepare(db) }); err != nil {
		db.Close()
		if existed && !errors.Is(err, errLayout) && !refusedBySystem(err) {
			return nil, nil, damagedError{err}
		}
		return nil, nil, err
	}
	return db, file, nil
}

// prepare makes what a new store lacks.
func prepare(db *bolt.DB) error {
	whole := false
	if err := db.View(func(tx *bolt.Tx) error { whole = complete(tx); return nil }); err != nil || whole {
		return err
	}
	return db.Update(createBuckets)
}

// guardOpen also returns what the open file is.
func guardOpen(path string) (db *bolt.DB, info os.FileInfo, err error) {
	var file *os.File
	opt := &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType, OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		file = f
		return f, err
	}}
	for {
		err = guarded(func() error {
			var oerr error
			db, oerr = bolt.Open(path, 0o600, opt)
			return oerr
		})
		if err != nil {
			return nil, nil, err
		}
		if info, err = file.Stat(); err != nil {
			db.Close()
			return nil, nil, err
		}
		if now, err := os.Stat(path); err != nil || os.SameFile(info, now) {
			return db, info, nil
		}
		db.Close() // what was locked is not there any more: a closing Host has replaced it
	}
}

// write runs fn in a transaction and returns when it is on disk. fn may run more
// than once (when a neighbour in its group fails) and must depend on the
// transaction and its captured values alone.
func (s *store) write(fn func(*bolt.Tx) error) error {
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return err
		}
	}
	w := &storeWrite{fn: fn, done: make(chan error, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errStoreClosed
	}
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return <-w.done
}

// read runs fn on a consistent view.
func (s *store) read(fn func(*bolt.Tx) error) error {
	return guarded(func() error { return s.db.View(fn) })
}

func (s *store) commitLoop() {
	defer close(s.done)
	for {
		s.mu.Lock()
		n := min(len(s.queue), maxGroup)
		group := s.queue[:n:n]
		s.queue = s.queue[n:]
		closed := s.closed
		s.mu.Unlock()
		if n == 0 {
			if closed {
				return
			}
			<-s.wake
			continue
		}
		s.commit(group)
	}
}

// commit writes a group in one transaction; a member that fails is answered alone
// and the others go again without it.
func (s *store) commit(group []*storeWrite) {
	for len(group) > 0 {
		failed := -1
		err := guarded(func() error {
			if !s.inPlace() {
				return errReplaced
			}
			return s.db.Update(func(tx *bolt.Tx) error {
				for i, w := range group {
					if err := w.fn(tx); err != nil {
						failed = i
						return err
					}
				}
				return nil
			})
		})
		if failed < 0 {
			for _, w := range group {
				w.done <- err
			}
			return
		}
		group[failed].done <- err
		rest := make([]*storeWrite, 0, len(group)-1)
		rest = append(rest, group[:failed]...)
		group = append(rest, group[failed+1:]...)
	}
}

// close waits for queued writes, rewrites the file if something was deleted from it, and
// closes it.
func (s *store) close() error { return s.end(true) }

func (s *store) end(scrub bool) (err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.done
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	<-s.done
	if scrub {
		err = s.scrub()
	}
	if cerr := s.db.Close(); cerr != nil {
		err = cerr
	}
	return err
}
