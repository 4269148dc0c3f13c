package hostsuite

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"askback/host"
	"askback/host/access"
	"askback/hostclient"
	"askback/internal/memnet"
	"askback/internal/testhost39"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a Host on an in-memory network for a test.
func serve(t *testing.T, run func(net.Listener) error, close func()) *memnet.Listener {
	t.Helper()
	l := memnet.Listen("host")
	served := make(chan error, 1)
	go func() { served <- run(l) }()
	t.Cleanup(func() {
		close()
		if err := <-served; err != nil && !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
	})
	return l
}

func options(l *memnet.Listener, token string) hostclient.Options {
	return hostclient.Options{URL: "ws://host", NetDial: l.DialContext, Token: func() (string, error) { return token, nil }}
}

func TestAgainstTestHost(t *testing.T) {
	h := testhost39.New(testhost39.Options{Tokens: map[string]testhost39.Credential{"maka_rh_test": {Principal: "owner", Publish: true}}})
	l := serve(t, h.Serve, h.Close)
	Run(t, Target{Options: options(l, "maka_rh_test"), Asks: true, Lines: true})
}

func TestAgainstOurHost(t *testing.T) {
	tokens := access.Ephemeral()
	token, err := tokens.Add("suite", access.RoleBoth, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(host.Options{Dir: t.TempDir(), Access: tokens, WorkDir: "/srv/project", DrainGrace: -1})
	if err != nil {
		t.Fatal(err)
	}
	l := serve(t, h.Serve, func() { _ = h.Close() })
	Run(t, Target{Options: options(l, token), Forms: true, Lines: true})
}

// TestAgainstForeignHost runs against ASKBACK_TEST_HOST, a WebSocket address,
// with the token in ASKBACK_TEST_TOKEN_FILE.
func TestAgainstForeignHost(t *testing.T) {
	url, file := os.Getenv("ASKBACK_TEST_HOST"), os.Getenv("ASKBACK_TEST_TOKEN_FILE")
	if url == "" || file == "" {
		t.Skip("ASKBACK_TEST_HOST and ASKBACK_TEST_TOKEN_FILE are not set: the suite ran against the test Host and ours only")
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts := hostclient.Options{URL: url, Token: func() (string, error) { return strings.TrimSpace(string(token)), nil }}
	Run(t, Target{Options: opts, Asks: true})
}
