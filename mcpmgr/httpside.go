package mcpmgr

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// incoming handles a notification or a request of the server's that came on a stream.
func (l *httpLink) incoming(_ context.Context, from *request, m *message) {
	if l.ev.tap != nil {
		l.ev.tap(Received, nil, string(m.id), m.method, false, m.params, nil, nil)
	}
	if m.id == nil {
		l.ev.note(from, m.method, m.params)
		return
	}
	if l.busy.Add(1) > maxAnswering {
		l.busy.Add(-1)
		l.ev.drop("a request of the server: too many of them wait", "method", m.method)
		return
	}
	asked, done := l.ev.arrived(l.ctx, string(m.id))
	l.onSide(func() {
		defer l.busy.Add(-1)
		defer done()
		result, code, msg, answer := l.ev.uninvited(asked, from, m.method, m.params)
		if !answer {
			return
		}
		var b builder
		b.add("jsonrpc", []byte(`"2.0"`)).add("id", m.id)
		if code != 0 {
			e, _ := json.Marshal(&jsonrpc.Error{Code: code, Message: msg})
			b.add("error", e)
		} else {
			b.add("result", result)
		}
		if l.ev.tap != nil {
			l.ev.tap(Sent, nil, string(m.id), m.method, true, nil, result, nil)
		}
		ctx, cancel := context.WithTimeout(l.ctx, sideTime)
		defer cancel()
		_ = l.postOnly(ctx, nil, b.bytes())
	})
}

// onSide runs f beside the requests; close waits for it.
func (l *httpLink) onSide(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.side.Go(f)
	}
}

// cancelOnSide tells a legacy server that request id was given up.
func (l *httpLink) cancelOnSide(id int64) {
	l.onSide(func() {
		ctx, cancel := context.WithTimeout(l.ctx, sideTime)
		defer cancel()
		var p builder
		p.add("requestId", strconv.AppendInt(nil, id, 10)).add("reason", quoteString("the client ended the call"))
		_ = l.notify(ctx, "notifications/cancelled", p.bytes())
	})
}

func (l *httpLink) notify(ctx context.Context, method string, params json.RawMessage) error {
	var b builder
	b.add("jsonrpc", []byte(`"2.0"`)).add("method", quoteString(method))
	if params != nil {
		b.add("params", params)
	}
	if l.ev.tap != nil {
		l.ev.tap(Sent, nil, "", method, false, params, nil, nil)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, sideTime, errNoteTime)
	defer cancel()
	err := l.postOnly(ctx, nil, b.bytes())
	if cause := context.Cause(ctx); err != nil && (cause == errNoteTime || cause == errLegTimeout) {
		return errNoteTime
	}
	return err
}

var errNoteTime = errors.New("the server does not say that it has the notification")

// postOnly sends what has no reply. Whatever the server says to it changes nothing.
func (l *httpLink) postOnly(ctx context.Context, req *request, body []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hreq, err := l.post(ctx, req, body)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return plainHTTPError(err)
	}
	defer resp.Body.Close()
	drain(resp.Body, cancel)
	if resp.StatusCode >= 300 {
		return &errStatus{status: resp.StatusCode, msg: "the server answers " + statusText(resp.StatusCode)}
	}
	return nil
}

// Pauses before a stream is resumed, where the server asks for none or for too much.
const (
	resumeUsual = time.Second
	resumeMost  = 30 * time.Second
	resumeTries = 5 // in a row that bring nothing new
)

// resume goes on reading the stream of a request to a legacy server that ended before the reply:
// such a server may hang up on purpose, and goes on where it was when it is asked with the id of
// the last event. The request itself is not sent again. lost is what to say when it comes to nothing.
func (l *httpLink) resume(ctx context.Context, req *request, events *sseReader, lost error) (json.RawMessage, error) {
	id, retry := events.id, events.retry
	for tries := 0; tries < resumeTries; tries++ {
		if _, ok := errors.AsType[*errLost](lost); !ok {
			return nil, lost // not an end of the stream
		}
		if retry == 0 {
			retry = resumeUsual
		}
		if err := sleep(ctx, min(retry, resumeMost)); err != nil {
			return nil, err
		}
		resp, err := l.get(ctx, id)
		if _, refused := errors.AsType[*errStatus](err); refused && !failing(err) {
			return nil, lost
		}
		if err != nil {
			continue
		}
		events := newSSEReader(resp.Body, MaxMessage)
		result, err := l.readStream(ctx, req, events)
		_ = resp.Body.Close()
		if err == nil || isRPC(err) {
			return result, err
		}
		lost = err
		if events.id != "" && events.id != id {
			id, tries = events.id, -1
		}
		if events.retry > 0 {
			retry = events.retry
		}
	}
	return nil, lost
}

// get opens a legacy server's event stream, after the event lastID where there is one.
func (l *httpLink) get(ctx context.Context, lastID string) (*http.Response, error) {
	hreq, err := http.NewRequestWithContext(ctx, http.MethodGet, l.endpoint.String(), nil)
	if err != nil {
		return nil, err
	}
	if err := l.commonHeaders(ctx, hreq); err != nil {
		return nil, err
	}
	hreq.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		hreq.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return nil, plainHTTPError(err)
	}
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || typ != "text/event-stream" {
		_ = resp.Body.Close()
		return nil, &errStatus{status: resp.StatusCode, msg: "the server answers " + statusText(resp.StatusCode)}
	}
	return resp, nil
}

// stream reads a legacy server's GET stream until it ends. opened is called when it has begun.
func (l *httpLink) stream(ctx context.Context, lastID *string, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	resp, err := l.get(ctx, *lastID)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	opened()
	events := newSSEReader(resp.Body, MaxMessage)
	for {
		data, err := events.next()
		if events.id != "" {
			*lastID = events.id
		}
		if err != nil {
			return err
		}
		for _, raw := range inEvent(data, false) {
			if m, err := parseMessage(raw); err == nil && !m.response() {
				l.incoming(ctx, nil, m)
			} else {
				l.ev.drop("an event of the server's stream")
			}
		}
	}
}

// endSession tells a legacy server that its session is over.
func (l *httpLink) endSession() {
	ctx, cancel := context.WithTimeout(l.ctx, 2*time.Second)
	defer cancel()
	hreq, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.endpoint.String(), nil)
	if err != nil || l.commonHeaders(ctx, hreq) != nil {
		return
	}
	if resp, err := l.client.Do(hreq); err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		resp.Body.Close()
	}
}
