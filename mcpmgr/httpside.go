package mcpmgr

import (
	"context"
	"encoding/json"
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
	l.onSide(func() {
		defer l.busy.Add(-1)
		result, code, msg, answer := l.ev.uninvited(l.ctx, from, m.method, m.params)
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
	return l.postOnly(ctx, nil, b.bytes())
}

// postOnly sends what has no reply. Whatever the server says to it changes nothing.
func (l *httpLink) postOnly(ctx context.Context, req *request, body []byte) error {
	hreq, err := l.post(ctx, req, body)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return plainHTTPError(err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode >= 300 {
		return &errStatus{resp.StatusCode, "the server answers " + statusText(resp.StatusCode)}
	}
	return nil
}

// stream reads a legacy server's GET stream until it ends. opened is called when it has begun.
func (l *httpLink) stream(ctx context.Context, lastID *string, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	hreq, err := http.NewRequestWithContext(ctx, http.MethodGet, l.endpoint.String(), nil)
	if err != nil {
		return err
	}
	if err := l.commonHeaders(ctx, hreq); err != nil {
		return err
	}
	hreq.Header.Set("Accept", "text/event-stream")
	if *lastID != "" {
		hreq.Header.Set("Last-Event-ID", *lastID)
	}
	resp, err := l.client.Do(hreq)
	if err != nil {
		return plainHTTPError(err)
	}
	defer resp.Body.Close()
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || typ != "text/event-stream" {
		return &errStatus{resp.StatusCode, "the server answers " + statusText(resp.StatusCode)}
	}
	opened()
	events := newSSEReader(resp.Body, MaxMessage)
	for {
		data, err := events.next()
		*lastID = events.id
		if err != nil {
			return err
		}
		if m, err := parseMessage(data); err == nil && !m.response() {
			l.incoming(ctx, nil, m)
		} else {
			l.ev.drop("an event of the server's stream")
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
