package mcpmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"askback/mcpmgr/config"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

const (
	maxErrorBody = 1 << 20                // of a reply with an error status
	drainTime    = 100 * time.Millisecond // to find the end of a stream after the reply in it
	sideTime     = 5 * time.Second        // for a notification or an answer on the side
	maxRedirects = 3
)

// httpLink is a link over streamable HTTP. Every request is a POST of its own, so that one odd
// reply spoils nothing but its request; there is no connection to lose, only requests.
type httpLink struct {
	how      string // a person authorizes
	endpoint *url.URL
	headers  []config.Pair
	client   *http.Client
	auth     auth.OAuthHandler // nil: none
	ev       peerEvents

	challenged *atomic.Pointer[errAuth] // nil, or where the last 401 or 403 is kept

	ctx    context.Context
	cancel context.CancelCauseFunc
	side   sync.WaitGroup // cancellations and answers under way
	busy   atomic.Int32

	mu      sync.Mutex
	session string // of a legacy server
	version string // negotiated with a legacy server
	closed  bool
}

func newHTTPLink(cfg config.Server, h auth.OAuthHandler, ev peerEvents) (*httpLink, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	l := &httpLink{how: "run askback authorize " + cfg.Name, endpoint: u, headers: cfg.Headers, client: newHTTPClient(u), auth: h, ev: ev}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l, nil
}

func (l *httpLink) do(ctx context.Context, req *request) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, &errNotSent{context.Cause(ctx)}
	}
	if l.ctx.Err() != nil {
		return nil, &errNotSent{context.Cause(l.ctx)}
	}
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	result, sent, err := l.exchange(rctx, cancel, req)
	if err != nil && !isRPC(err) && rctx.Err() != nil {
		cause := context.Cause(rctx)
		if !sent {
			return nil, &errNotSent{cause}
		}
		if !req.modern && ctx.Err() != nil && req.method != "initialize" {
			l.cancelOnSide(req.id) // modern: closing the stream is the cancellation
		}
		return nil, &errLost{cause}
	}
	if e, ok := errors.AsType[*errLost](err); ok && !sent {
		return nil, &errNotSent{e.err}
	}
	return result, err
}

// exchange posts req and reads up to its reply. sent reports whether any of it can have left.
func (l *httpLink) exchange(ctx context.Context, cancel context.CancelCauseFunc, req *request) (result json.RawMessage, sent bool, err error) {
	body := encodeRequest(req.id, req.method, req.params)
	var wrote atomic.Bool
	tctx := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { wrote.Store(true) }})
	hreq, err := l.post(tctx, req, body)
	if err != nil {
		return nil, false, err
	}
	if l.ev.tap != nil {
		l.ev.tap(Sent, req, strconv.FormatInt(req.id, 10), req.method, false, req.params, nil, nil)
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return nil, wrote.Load(), &errLost{&errConn{plainHTTPError(err)}}
	}
	defer resp.Body.Close()
	if req.method == "initialize" && resp.StatusCode == http.StatusOK {
		l.mu.Lock()
		l.session = resp.Header.Get("Mcp-Session-Id")
		l.mu.Unlock()
	}
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 300:
		return nil, true, l.refused(req, resp)
	case encoded(resp.Header):
		err = &errBadReply{fmt.Sprintf("the server's reply is compressed as %s, which is not read here", clipText(l.ev.redact(resp.Header.Get("Content-Encoding")), 40))}
	case typ == "application/json":
		result, err = l.readJSON(ctx, req, resp.Body)
	case typ == "text/event-stream":
		events := newSSEReader(resp.Body, MaxMessage)
		result, err = l.readStream(ctx, req, events)
		switch {
		case err == nil || isRPC(err):
			drain(resp.Body, cancel)
		case !req.modern && events.id != "":
			result, err = l.resume(ctx, req, events, err)
		}
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		err = &errBadReply{"the server accepted the request but sent no reply"}
	default:
		err = &errBadReply{fmt.Sprintf("the server's reply is %s, not JSON or an event stream", l.describeType(resp.Header.Get("Content-Type")))}
	}
	return result, true, err
}

// encoded reports a body that is compressed still: in another way than the one that is asked for.
func encoded(h http.Header) bool {
	how := h.Get("Content-Encoding")
	return how != "" && !strings.EqualFold(how, "identity")
}

// post builds the HTTP request for one message. req may be nil, for what is not a request.
func (l *httpLink) post(ctx context.Context, req *request, body []byte) (*http.Request, error) {
	hreq, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := l.commonHeaders(ctx, hreq); err != nil {
		return nil, err
	}
	h := hreq.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if req == nil || !req.modern {
		return hreq, nil
	}
	h.Set("Mcp-Protocol-Version", req.version)
	h.Set("Mcp-Method", req.method)
	switch req.method {
	case "tools/call", "prompts/get", "resources/read":
		h.Set("Mcp-Name", headerValue(req.name))
	}
	for _, x := range req.extra {
		h[http.CanonicalHeaderKey(x.Name)] = []string{x.Value}
	}
	return hreq, nil
}

// commonHeaders sets what every HTTP request to this server carries.
func (l *httpLink) commonHeaders(ctx context.Context, hreq *http.Request) error {
	for _, x := range l.headers {
		hreq.Header.Set(x.Name, x.Value)
	}
	l.mu.Lock()
	session, version := l.session, l.version
	l.mu.Unlock()
	if version != "" {
		hreq.Header.Set("Mcp-Protocol-Version", version)
	}
	if session != "" {
		hreq.Header.Set("Mcp-Session-Id", session)
	}
	if l.auth == nil || l.ownAuthorization() {
		return nil
	}
	ts, err := l.auth.TokenSource(ctx)
	if err != nil || ts == nil {
		return nil
	}
	tok, err := ts.Token()
	if err != nil {
		return l.noToken(err)
	}
	tok.SetAuthHeader(hreq)
	return nil
}

// noToken says why there is no token to send: the authorization has to be given again, or the
// authorization server cannot be asked now.
func (l *httpLink) noToken(err error) error {
	re, refused := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case errors.Is(err, errExpired):
		return &errAuth{msg: "the stored authorization has expired: " + l.how}
	case !refused:
		return &errNotSent{&errConn{errors.New("the authorization server cannot be reached to renew the token")}}
	case re.Response.StatusCode >= 500 || re.Response.StatusCode == http.StatusTooManyRequests:
		return &errNotSent{&errConn{errors.New("the authorization server does not renew the token now: it answers " + statusText(re.Response.StatusCode))}}
	}
	return &errAuth{msg: "the stored authorization is no longer accepted: " + l.how}
}

// setLegacy records what initialize negotiated; every later request bears it.
func (l *httpLink) setLegacy(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

func (l *httpLink) readJSON(ctx context.Context, req *request, body io.Reader) (json.RawMessage, error) {
	raw, err := readCapped(body, MaxMessage)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, &errBadReply{"the server's reply is empty"}
	}
	raw = bytes.TrimPrefix(raw, bom)
	if list := batch(raw, req.modern); list != nil {
		var bad error
		result, done, err := l.messages(ctx, req, list, &bad)
		switch {
		case !done && bad != nil:
			return nil, bad
		case !done:
			return nil, &errBadReply{"the server's reply is not a reply"}
		}
		return result, err
	}
	m, err := parseMessage(raw)
	if err != nil {
		return nil, unusable("the server's reply", err)
	}
	if !m.response() {
		return nil, &errBadReply{"the server's reply is not a reply"}
	}
	return l.reply(req, m)
}

// reply checks that m answers req and takes it apart. An error may come without an id, since nothing else is answered
// where req is: a server that cannot use a request may not know its id.
func (l *httpLink) reply(req *request, m *message) (json.RawMessage, error) {
	if id, ok := m.number(); !ok || id != req.id {
		if m.id != nil || m.err == nil {
			return nil, &errBadReply{"the server's reply is to another request"}
		}
	}
	if l.ev.tap != nil {
		var errRaw json.RawMessage
		if m.err != nil {
			errRaw, _ = json.Marshal(m.err)
		}
		l.ev.tap(Received, req, strconv.FormatInt(req.id, 10), req.method, true, nil, m.result, errRaw)
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.result, nil
}

// readStream reads events up to the reply to req.
func (l *httpLink) readStream(ctx context.Context, req *request, events *sseReader) (json.RawMessage, error) {
	if req.opened != nil {
		req.opened()
	}
	var bad error // the last that came and was no use: one such event does not end what others wait for
	for {
		data, err := events.next()
		if err != nil {
			if _, ok := errors.AsType[*errTooLarge](err); ok {
				return nil, err
			}
			if bad != nil {
				return nil, bad
			}
			return nil, &errLost{&errConn{errors.New("the server's stream ended without a reply")}}
		}
		if result, done, err := l.messages(ctx, req, inEvent(data, req.modern), &bad); done {
			return result, err
		}
	}
}

// maxBatch is how many messages are read of one batch.
const maxBatch = 256

// batch is the messages of a batch, which servers may send where 2025-03-26 or an older version is spoken; nil where
// raw is none.
func batch(raw []byte, modern bool) []json.RawMessage {
	if at := skipSpace(raw, 0); modern || at == len(raw) || raw[at] != '[' || !json.Valid(raw) {
		return nil
	}
	list, err := elements(raw)
	if err != nil || len(list) > maxBatch {
		return nil
	}
	return list
}

// inEvent is the messages of an event: one, or those of a batch.
func inEvent(data []byte, modern bool) []json.RawMessage {
	if list := batch(data, modern); list != nil {
		return list
	}
	return []json.RawMessage{data}
}

// messages takes what stands in one event, or in one batch, and reports whether the reply to req was there. bad is the
// last that was no use.
func (l *httpLink) messages(ctx context.Context, req *request, list []json.RawMessage, bad *error) (result json.RawMessage, done bool, reason error) {
	for _, raw := range list {
		m, err := parseMessage(raw)
		switch {
		case err != nil && !done && ours(m, req):
			done, reason = true, unusable("an event of the server's stream", err)
		case err != nil:
			*bad = unusable("an event of the server's stream", err)
			l.ev.drop("an event that is no message", "error", err.Error())
		case !m.response():
			l.incoming(ctx, req, m)
		case !done:
			got, err := l.reply(req, m)
			if _, ok := errors.AsType[*errBadReply](err); ok {
				*bad = err
				l.ev.drop("a reply to another request", "id", string(m.id))
				continue
			}
			result, done, reason = got, true, err
		}
	}
	return result, done, reason
}

// ours reports whether a message that cannot be used means to answer req.
func ours(m *message, req *request) bool {
	if m == nil {
		return false
	}
	id, ok := m.number()
	return ok && id == req.id && m.response()
}

func (l *httpLink) dead() <-chan struct{} { return l.ctx.Done() }

func (l *httpLink) lost() error { return context.Cause(l.ctx) }

func (l *httpLink) close() {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if !was && session != "" && l.ctx.Err() == nil {
		l.endSession()
	}
	l.cancel(errLinkClosed)
	l.side.Wait()
	l.client.CloseIdleConnections()
}
