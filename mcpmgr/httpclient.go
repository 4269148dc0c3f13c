package mcpmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// newHTTPClient makes a client with a pool of its own that goes to no other host.
func newHTTPClient(endpoint *url.URL) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = 64
	t.IdleConnTimeout = 60 * time.Second
	t.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{
		Transport: t,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects || req.Method != via[0].Method || req.URL.Scheme != endpoint.Scheme || req.URL.Host != endpoint.Host {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// rpcStatus is a JSON-RPC error with the HTTP status that it came with.
type rpcStatus struct {
	err    *jsonrpc.Error
	status int
	after  time.Duration // as in errStatus
}

func (e *rpcStatus) Error() string { return e.err.Error() }
func (e *rpcStatus) Unwrap() error { return e.err }

func isRPC(err error) bool { _, ok := errors.AsType[*jsonrpc.Error](err); return ok }

// describeType names what a reply is. The header is redacted whole and as it came: parsing makes its letters small, and
// half a state is no longer known for one. No usual type is so long that it would have to be cut.
func (l *httpLink) describeType(header string) string {
	typ, _, _ := strings.Cut(l.ev.redact(header), ";")
	switch typ = strings.TrimSpace(typ); {
	case typ == "":
		return "of no type"
	case len(typ) > 40:
		return "of an unknown type"
	}
	return typ
}

// drain reads to the end of a stream whose reply is already here, so that its connection can be
// used again; a stream that the server leaves open is dropped.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, 64<<10)
}

func readCapped(body io.Reader, limit int) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if len(raw) > limit {
		return nil, &errTooLarge{fmt.Sprintf("the server's reply is over the limit of %d bytes", limit)}
	}
	if err != nil {
		return nil, &errLost{&errConn{errors.New("the server's reply broke off")}}
	}
	return raw, nil
}

// refused turns a status of 300 and more into an error, a JSON-RPC one where the body holds it.
func (l *httpLink) refused(req *request, resp *http.Response) error {
	if resp.StatusCode == http.StatusNotFound && !req.modern && req.method != "initialize" && l.hasSession() {
		return &errNotSent{&errConn{errSessionGone}}
	}
	said := ""
	if m := errorIn(resp); m != nil {
		m.id = nil // one POST has one reply, whatever id a server's transport gives to its errors
		if _, rerr := l.reply(req, m); rerr == error(m.err) {
			said = m.err.Message
			if code := resp.StatusCode; code != http.StatusUnauthorized && (code != http.StatusForbidden || modernCode(m.err.Code)) {
				return &rpcStatus{m.err, resp.StatusCode, retryAfter(resp.Header)}
			}
		}
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e := l.unauthorized(resp)
		if said != "" {
			e.msg += "; it says: " + clipText(l.ev.redact(said), 300)
		}
		if l.challenged != nil {
			l.challenged.Store(e)
		}
		return e
	case code < 400:
		return &errStatus{status: code, msg: "the server redirects " + l.redirectTarget(resp) + ", which is not followed"}
	default:
		e := &errStatus{status: code, msg: "the server answers " + statusText(code), after: retryAfter(resp.Header)}
		if e.after > 0 {
			e.msg += fmt.Sprintf(" and asks to wait %v", e.after)
		}
		return e
	}
}

// maxErrorEvents is how many events of a refused stream may come before the error.
const maxErrorEvents = 8

// errorIn is the JSON-RPC error in the body of a refused request, as JSON or as an event; nil where there is none.
func errorIn(resp *http.Response) *message {
	isError := func(raw []byte) *message {
		m, err := parseMessage(bytes.TrimPrefix(raw, bom))
		if odd, ok := errors.AsType[*oddError](err); ok && modernCode(odd.code) { // which tells the era all the same
			return &message{err: odd.rpc()}
		}
		if err != nil || !m.response() || m.err == nil {
			return nil
		}
		return m
	}
	if typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); typ == "text/event-stream" {
		events := newSSEReader(io.LimitReader(resp.Body, maxErrorBody), maxErrorBody)
		for range maxErrorEvents {
			data, err := events.next()
			if err != nil {
				return nil
			}
			if m := isError(data); m != nil {
				return m
			}
		}
		return nil
	}
	raw, err := readCapped(resp.Body, maxErrorBody)
	if err != nil {
		return nil
	}
	return isError(raw)
}

const maxRetryAfter = time.Hour

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	var d time.Duration
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = time.Until(at).Round(time.Second)
	}
	return min(max(d, 0), maxRetryAfter)
}

// waitAsked is how long the server that failed with err asks to be left alone.
func waitAsked(err error) time.Duration {
	if e, ok := errors.AsType[*errStatus](err); ok {
		return e.after
	}
	if e, ok := errors.AsType[*rpcStatus](err); ok {
		return e.after
	}
	return 0
}

// unauthorized says what a 401 or 403 means to a person, and what there is to do.
func (l *httpLink) unauthorized(resp *http.Response) *errAuth {
	e := &errAuth{status: resp.StatusCode, header: resp.Header}
	sent := resp.Request.Header.Get("Authorization") != ""
	e.kept = sent && !l.ownAuthorization()
	switch {
	case e.status == http.StatusForbidden:
		e.msg = "the server refuses access (403)"
		if scopes := e.scopes(); len(scopes) > 0 {
			e.msg += ": the authorization lacks the scope " + clipText(l.ev.redact(strings.Join(scopes, " ")), 200) + "; " + l.how
		}
	case e.kept:
		e.msg = "the server no longer accepts the stored authorization (401): " + l.how
	case sent:
		e.msg = "the server refuses the Authorization header of the configuration (401)"
	default:
		e.msg = "the server wants authorization (401): " + l.how
	}
	return e
}

// ownAuthorization reports whether the entry has an Authorization header of its own.
func (l *httpLink) ownAuthorization() bool {
	return slices.ContainsFunc(l.headers, func(h config.Pair) bool { return strings.EqualFold(h.Name, "Authorization") })
}

// scopes are those that the server says are missing.
func (e *errAuth) scopes() []string {
	cs, _ := oauthex.ParseWWWAuthenticate(e.header.Values("WWW-Authenticate"))
	for _, c := range cs {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return strings.Fields(c.Params["scope"])
		}
	}
	return nil
}

var errSessionGone = errors.New("the server ended the session")

func (l *httpLink) hasSession() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session != ""
}

func statusText(code int) string {
	if t := http.StatusText(code); t != "" {
		return fmt.Sprintf("%d %s", code, t)
	}
	return strconv.Itoa(code)
}

func (l *httpLink) redirectTarget(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil || to.Host == l.endpoint.Host && to.Scheme == l.endpoint.Scheme {
		return "(" + statusText(resp.StatusCode) + ")"
	}
	return "to " + clipText(l.ev.redact(to.Scheme+"://"+to.Host), 100)
}

// plainHTTPError drops the address, which may bear a secret, from the client's error.
func plainHTTPError(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	oe, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && oe.Op == "dial":
		return fmt.Errorf("the server cannot be reached: %w", oe.Err)
	case ok && oe.Err != nil: // without the addresses of both ends
		return oe.Err
	}
	return err
}

// encodeRequest writes a request; params go in verbatim.
func encodeRequest(id int64, method string, params json.RawMessage) []byte {
	var b builder
	b.b.Grow(len(params) + 128)
	b.add("jsonrpc", []byte(`"2.0"`)).add("id", strconv.AppendInt(nil, id, 10)).add("method", quoteString(method))
	if params != nil {
		b.add("params", params)
	}
	return b.bytes()
}
