package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"askback/hostclient"
)

// target is the Host that a command talks to: options for its connections, and the embedded Host where it is one
// of this process.
type target struct {
	view, provider hostclient.Options
	embedded       *embedded
	instance       *hostclient.Instance
}

// needHost is the usage error of a command that has no use for an embedded Host.
func (g *globals) needHost(command string) error {
	if g.host == "" {
		return usagef(fmt.Errorf("%s needs a Host to talk to: give its address with --host", command))
	}
	return nil
}

// openTarget resolves --host, or starts an embedded Host with its store in dir ("" for a temporary one).
func (g *globals) openTarget(dir string, log *slog.Logger) (*target, error) {
	return g.openTargetWith(embeddedOptions{dir: dir, log: log, stderr: g.env.stderr})
}

func (g *globals) openTargetWith(o embeddedOptions) (*target, error) {
	t := &target{}
	state, err := g.stateDir()
	if err != nil {
		return nil, err
	}
	if t.instance, err = hostclient.HoldInstance(state); err != nil {
		return nil, usagef(err)
	}
	base := hostclient.Options{InstanceID: t.instance.ID(), Logger: o.log}
	if g.host == "" {
		e, err := openEmbedded(o)
		if err != nil {
			t.instance.Release()
			return nil, err
		}
		t.embed(e, base)
		return t, nil
	}
	base.URL, base.CAFile, base.Insecure = g.host, g.caFile, g.insecure
	base.Pins = hostclient.PinFile(filepath.Join(state, "hosts.json"))
	base.Token = g.token(g.tokenFile)
	t.view, t.provider = base, base
	if g.providerTokenFile != "" {
		t.provider.Token = g.token(g.providerTokenFile)
	}
	return t, nil
}

func (t *target) embed(e *embedded, base hostclient.Options) {
	t.embedded = e
	base.URL, base.NetDial = "ws://embedded", e.dial
	t.view, t.provider = base, base
	t.view.Token = func() (string, error) { return e.clientToken, nil }
	t.provider.Token = func() (string, error) { return e.providerToken, nil }
}

// close ends what openTarget started. The connections must have ended before.
func (t *target) close() error {
	var err error
	if t.embedded != nil {
		err = t.embedded.close()
	}
	return errors.Join(err, t.instance.Release())
}

// token reads a token file, or ASKBACK_TOKEN where none is named. It is asked before each dial, so that a token that
// was replaced counts from the next one on. What is no regular file, such as the pipe of a shell's <(command), can be
// read once: its token stays.
func (g *globals) token(file string) func() (string, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return sync.OnceValues(g.readToken(file))
	}
	return g.readToken(file)
}

func (g *globals) readToken(file string) func() (string, error) {
	return func() (string, error) {
		if file == "" {
			if t := g.env.getenv("ASKBACK_TOKEN"); t != "" {
				return strings.TrimSpace(t), nil
			}
			return "", errors.New("no token: name a file with --token-file, or set ASKBACK_TOKEN")
		}
		data, err := readLimited(file, 4<<10)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return "", fmt.Errorf("the token file %s does not exist", file)
			}
			return "", err
		}
		return strings.TrimSpace(string(data)), nil
	}
}

// connectError gives an error of a connection its exit code.
func connectError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errSignal) {
		return err
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e
	}
	code := exitUnreachable
	switch hostclient.CodeOf(err) {
	case hostclient.CodeBadEndpoint, hostclient.CodeBadToken, hostclient.CodeInsecure, hostclient.CodePinFile:
		code = exitUsage
	}
	return &exitError{code: code, err: err}
}
