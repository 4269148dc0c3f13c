package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"askback/host"
	"askback/host/access"
)

// drainTime bounds how long a Host that was told to end goes on.
const drainTime = 5 * time.Second

type hostFlags struct {
	listen, data, cert, key string
	origins                 []string
	retain                  time.Duration
}

func newHost(g *globals) *cobra.Command {
	f := &hostFlags{}
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Run a Runtime Host for other terminals and providers",
		Long: `host runs a Runtime Host that others reach over WebSocket: providers publish tools, terminals start turns and
answer forms. When it is ready it prints one JSON line on stdout. Its log goes to stderr or to --log-file.

Plain ws:// is for this machine alone; give --tls-cert and --tls-key to serve others.`,
		Example: `  askback host token add laptop --role client > token
  askback host
  askback host --listen :7443 --tls-cert cert.pem --tls-key key.pem`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runHost(cmd.Context(), g, f) },
	}
	cmd.PersistentFlags().StringVar(&f.data, "data", "", "`folder` of the store and the tokens (default $XDG_STATE_HOME/askback/host)")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7443", "`address` to listen on")
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "PEM `file` with the certificate chain")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "PEM `file` with the private key")
	cmd.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "an Origin `header` that may connect (repeatable)")
	cmd.Flags().DurationVar(&f.retain, "retain", 0, "drop the values of settled forms after this `time` (default: with their session)")
	cmd.AddCommand(newToken(g, f))
	return cmd
}

func (f *hostFlags) dataDir(g *globals) (string, error) {
	if f.data != "" {
		return f.data, os.MkdirAll(f.data, 0o700)
	}
	state, err := g.stateDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(state, "host")
	return dir, ownFolder(dir)
}

func (f *hostFlags) tokens(g *globals) (*access.Store, string, error) {
	dir, err := f.dataDir(g)
	if err != nil {
		return nil, "", usagef(err)
	}
	store, err := access.Open(filepath.Join(dir, "tokens.json"))
	if err != nil {
		return nil, "", usagef(err)
	}
	return store, dir, nil
}

func runHost(ctx context.Context, g *globals, f *hostFlags) error {
	if f.retain < 0 {
		return usagef(errors.New("--retain: how long values are kept, for example 720h"))
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	log, closeLog, err := g.logger(g.env.stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	tokens, dir, err := f.tokens(g)
	if err != nil {
		return err
	}
	if list, err := tokens.List(); err == nil && len(list) == 0 {
		fmt.Fprintln(g.env.stderr, "askback: no tokens yet, so nobody can connect. Make one with: askback host token add NAME")
	}
	work, err := os.Getwd()
	if err != nil {
		return usagef(fmt.Errorf("the working folder cannot be used: %w", err))
	}
	l, scheme, err := f.listener(g.insecure)
	if err != nil {
		return err
	}
	h, err := host.Open(host.Options{Dir: dir, Access: tokens, WorkDir: work, AllowOrigins: f.origins, Logger: log, Retain: f.retain})
	if err != nil {
		l.Close()
		if errors.Is(err, host.ErrStoreInUse) {
			return &exitError{code: exitUsage, err: fmt.Errorf("another Host uses %s; stop it or give another folder with --data", dir)}
		}
		return err
	}
	defer h.Close()
	if aside := h.SetAside(); aside != nil {
		fmt.Fprintf(g.env.stderr, "askback: %v\n", aside)
	}
	ready, _ := json.Marshal(map[string]any{"ready": true, "endpoint": fmt.Sprintf("%s://%s/runtime-host", scheme, l.Addr())})
	fmt.Fprintf(g.env.stdout, "%s\n", ready)
	if err := g.env.unwritten(); err != nil { // who started it would wait for ever
		l.Close()
		return err
	}
	return serveUntil(ctx, h, l)
}

// serveUntil serves until ctx ends, then drains.
func serveUntil(ctx context.Context, h *host.Host, l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		return &exitError{code: exitUnreachable, err: fmt.Errorf("the listener ended: %w", err)}
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := h.Shutdown(grace)
	<-served
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what did not end in time is cut off by Close
	}
	return err
}

// listener opens the address. Plain connections are for loopback, unless --insecure.
func (f *hostFlags) listener(insecure bool) (net.Listener, string, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, "", usagef(errors.New("--tls-cert and --tls-key go together"))
	}
	var conf *tls.Config
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, "", usagef(fmt.Errorf("--tls-cert, --tls-key: %w", err))
		}
		conf = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, "", &exitError{code: exitUsage, err: fmt.Errorf("--listen: %w", err)}
	}
	if conf != nil {
		return tls.NewListener(l, conf), "wss", nil
	}
	if a, ok := l.Addr().(*net.TCPAddr); !insecure && !(ok && a.IP.IsLoopback()) {
		l.Close()
		return nil, "", usagef(fmt.Errorf("--listen %s: tokens and answers would cross the network in clear text; give --tls-cert and --tls-key, or --insecure if something else protects the line", f.listen))
	}
	return l, "ws", nil
}
