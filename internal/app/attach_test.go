package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What no connection can come of ends the terminal UI before it begins; a Host that refuses us, or was never there, ends
// it in lines without a terminal, where nobody could try again or leave.
func TestAttachThatCannotConnect(t *testing.T) {
	w := newWorld(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	at := "ws" + strings.TrimPrefix(refusing.URL, "http")
	token := w.write("token", "askb_rh_x")
	for name, c := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"no ws address":    {[]string{"--host", "ftp://x", "--token-file", token}, 2, "must begin with ws:// or wss://"},
		"clear text":       {[]string{"--host", "ws://192.0.2.1:1", "--token-file", token}, 2, "--insecure"},
		"no authorities":   {[]string{"--host", "wss://127.0.0.1:1", "--ca-file", w.path("gone.pem"), "--token-file", token}, 2, "CA file"},
		"no token":         {[]string{"--host", at}, 2, "--token-file"},
		"no token file":    {[]string{"--host", at, "--token-file", w.path("gone")}, 2, "does not exist"},
		"no provider file": {[]string{"--host", at, "--token-file", token, "--provider-token-file", w.path("gone")}, 2, "does not exist"},
		"nobody there":     {[]string{"--host", "ws://127.0.0.1:1", "--token-file", token}, 5, "cannot be reached"},
		"a wrong token":    {[]string{"--host", at, "--token-file", token}, 5, "refused the token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := w.run(append([]string{"attach"}, c.args...)...); r.code != c.exit || !strings.Contains(r.stderr, c.says) {
				t.Errorf("%+v", r)
			}
		})
	}
}
