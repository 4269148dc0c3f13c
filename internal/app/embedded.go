package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"askback/host"
	"askback/host/access"
	"askback/internal/memnet"
)

// embedded is a Host in this process. It is reached over WebSocket like any other, on a listener in memory.
type embedded struct {
	host      *host.Host
	listener  *memnet.Listener
	served    chan error
	temporary string // the folder to remove at the end, "" for none
	sweep     sync.WaitGroup

	clientToken, providerToken string
}

type embeddedOptions struct {
	dir    string // of the store; "" for a new temporary one, removed at the end
	log    *slog.Logger
	stderr io.Writer
	clock  host.Clock    // nil: the system's
	newID  func() string // nil: random ids
}

// openEmbedded starts a Host. A store that another process holds is not waited for: a temporary one takes its place.
func openEmbedded(o embeddedOptions) (*embedded, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, usagef(fmt.Errorf("the working folder cannot be used: %w", err))
	}
	e := &embedded{served: make(chan error, 1)}
	tokens := access.Ephemeral()
	if e.clientToken, err = tokens.Add("terminal", access.RoleClient, 0); err != nil {
		return nil, err
	}
	if e.providerToken, err = tokens.Add("tools", access.RoleProvider, 0); err != nil {
		return nil, err
	}
	opt := host.Options{Dir: o.dir, Access: tokens, WorkDir: work, Logger: o.log, Clock: o.clock, NewID: o.newID}
	if o.dir != "" {
		e.host, err = host.Open(opt)
		if errors.Is(err, host.ErrStoreInUse) {
			fmt.Fprintln(o.stderr, "askback: another askback uses the stored sessions; those of this run are not kept")
			o.dir = ""
		} else if err != nil {
			return nil, err
		}
	}
	if o.dir == "" {
		if e.temporary, err = os.MkdirTemp("", temporaryPrefix); err != nil { // mode 0700
			return nil, usagef(fmt.Errorf("no temporary folder for the Host (TMPDIR): %w", err))
		}
		opt.Dir = e.temporary
		if e.host, err = host.Open(opt); err != nil {
			os.RemoveAll(e.temporary)
			return nil, err
		}
		e.sweep.Go(func() { removeLeftOver(os.TempDir(), time.Now()) }) // beside what the command is for; close waits
	}
	if aside := e.host.SetAside(); aside != nil {
		fmt.Fprintf(o.stderr, "askback: %v\n", aside)
	}
	e.listener = memnet.Listen("host")
	go func() { e.served <- e.host.Serve(e.listener) }()
	return e, nil
}

// temporaryPrefix begins the names of temporary Hosts' folders.
const temporaryPrefix = "askback-host-"

// leftOverAfter is how long a store must not have been written before it can be one that was left. The lock says more,
// but a Host that is being opened does not hold it yet.
const leftOverAfter = time.Minute

// removeLeftOver removes the temporary stores of Hosts that were killed: they hold what people answered. It touches
// only folders of this user whose store no process holds. What cannot be removed is left for the next start.
func removeLeftOver(temp string, now time.Time) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		if dir := filepath.Join(temp, e.Name()); strings.HasPrefix(e.Name(), temporaryPrefix) && leftOver(dir, now) {
			_ = os.RemoveAll(dir)
		}
	}
}

func leftOver(dir string, now time.Time) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return false
	}
	store := filepath.Join(dir, host.StoreFile)
	if info, err = os.Lstat(store); err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < leftOverAfter {
		return false
	}
	f, err := os.OpenFile(store, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // gives the lock back
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func (e *embedded) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return e.listener.Dial(ctx)
}

// close drains the Host, ends it and removes what was temporary.
func (e *embedded) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := e.host.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	err = errors.Join(err, e.host.Close())
	e.listener.Close()
	<-e.served
	e.sweep.Wait()
	if e.temporary != "" {
		err = errors.Join(err, os.RemoveAll(e.temporary))
	}
	return err
}

// hostDir is where the embedded Host keeps its store.
func (g *globals) hostDir() (string, error) {
	state, err := g.stateDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(state, "host")
	return dir, ownFolder(dir)
}
