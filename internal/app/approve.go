package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"askback/forms"
	"askback/internal/atomicfile"
	"askback/mcpmgr/config"
)

// approvals remembers which project files a person has allowed to start programs: path and hash of the content.
type approvals struct{ path string }

func (a approvals) read() (map[string]string, error) {
	known := map[string]string{}
	b, err := os.ReadFile(a.path)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &known); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove it, and you are asked again", a.path, err)
	}
	return known, nil
}

func (a approvals) add(file, hash string) error {
	lock := flock.New(a.path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Unlock()
	known, err := a.read()
	if err != nil {
		return err
	}
	known[file] = hash
	b, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(a.path, append(b, '\n'))
}

// approve asks, once for each content, whether a project file may start what it names. A project file comes with
// a folder that somebody else may have made. Without a terminal nobody can be asked, and only --config uses it.
func (g *globals) approve(ctx context.Context, path string, data []byte, f *config.File) error {
	state, err := g.stateDir()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return usagef(err)
	}
	store := approvals{filepath.Join(state, "approved.json")}
	known, err := store.read()
	if err != nil {
		return usagef(err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if known[abs] == hash || len(f.Servers) == 0 {
		return nil
	}
	if !g.interactive() {
		return usagef(fmt.Errorf("%s was not approved yet and nobody can be asked here; name it with --config to use it", path))
	}
	w := g.env.stderr
	fmt.Fprintf(w, "%s in this folder was not used before, or has changed. It starts or talks to:\n", path)
	for _, s := range f.Servers {
		fmt.Fprintf(w, "  %s\n", forms.Line(s.Describe()))
	}
	yes, err := g.askYes(ctx, "Run them from now on? [y/N] ")
	if errors.Is(err, errSignal) {
		fmt.Fprintln(w)
		return err
	}
	if err != nil || !yes {
		return usagef(fmt.Errorf("%s was not approved: nothing was started", path))
	}
	return store.add(abs, hash)
}

// askYes asks a question and reads its answer. A signal ends the question, whatever else listens to it; one that came
// before it, and ended ctx, does too.
func (g *globals) askYes(ctx context.Context, question string) (bool, error) {
	ctx, stop := withSignals(ctx) // before the question is seen
	defer stop()
	fmt.Fprint(g.env.stderr, question)
	type answer struct {
		yes bool
		err error
	}
	got := make(chan answer, 1)
	go func() { // a read of a terminal cannot be called off: it ends with the line, or with the program, which a signal ends
		yes, err := readYes(g.env.stdin)
		got <- answer{yes, err}
	}()
	select {
	case a := <-got:
		return a.yes, a.err
	case <-ctx.Done():
		if cause := context.Cause(ctx); errors.Is(cause, errSignal) {
			return false, cause
		}
		return false, errSignal
	}
}

// readYes reads one line, byte by byte: what follows belongs to the program that reads the terminal next.
func readYes(in io.Reader) (bool, error) {
	var line strings.Builder
	one := oneByte{in}
	for {
		b, err := one.next()
		if err != nil {
			return false, err
		}
		if b == '\n' || b == '\r' {
			s := strings.ToLower(strings.TrimSpace(line.String()))
			return s == "y" || s == "yes", nil
		}
		if line.Len() < 100 {
			line.WriteByte(b)
		}
	}
}

type oneByte struct{ in io.Reader }

func (r oneByte) next() (byte, error) {
	var p [1]byte
	for {
		if n, err := r.in.Read(p[:]); n == 1 || err != nil {
			if n == 1 {
				err = nil
			}
			return p[0], err
		}
	}
}
