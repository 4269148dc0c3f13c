package host

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"askback/protocol"
)

// A catalog knows every session of the Host. Its revision rises with every change that
// a list would show; a page that is continued after a change is told to start over.
type catalog struct {
	mu       sync.Mutex
	sessions map[string]*session
	revision int64
	sorted   []*session // newest first, as of sortedAt
	sortedAt int64
}

func (c *catalog) find(id string) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// all returns every session, in no particular order.
func (c *catalog) all() []*session {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*session, 0, len(c.sessions))
	for _, s := range c.sessions {
		list = append(list, s)
	}
	return list
}

// changed counts a change and returns the new revision.
func (c *catalog) changed() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision++
	return c.revision
}

func (c *catalog) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
	c.revision++
}

// list returns the sessions as they are shown and the revision of that order.
func (c *catalog) list() ([]*session, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sorted == nil || c.sortedAt != c.revision {
		list := make([]*session, 0, len(c.sessions))
		for _, s := range c.sessions {
			list = append(list, s)
		}
		slices.SortFunc(list, func(a, b *session) int {
			if d := b.view.Load().rec.LastUsedAt - a.view.Load().rec.LastUsedAt; d != 0 {
				return int(max(-1, min(1, d)))
			}
			return strings.Compare(a.id, b.id)
		})
		c.sorted, c.sortedAt = list, c.revision
	}
	return c.sorted, c.revision
}

func (h *Host) catalogRevision(n int64) string {
	return "sha256:" + digest([]byte(h.epoch), fmt.Append(nil, n))
}

// signCursor makes an opaque cursor of v that only this Host's life accepts back.
func (h *Host) signCursor(v any) string {
	body, _ := json.Marshal(v)
	mac := hmac.New(sha256.New, h.cursorKey[:])
	mac.Write(body)
	enc := base64.RawURLEncoding
	return enc.EncodeToString(body) + "." + enc.EncodeToString(mac.Sum(nil))
}

// readCursor reports whether cursor is one of ours, and fills v.
func (h *Host) readCursor(cursor string, v any) bool {
	head, tail, _ := strings.Cut(cursor, ".")
	enc := base64.RawURLEncoding.Strict()
	body, err1 := enc.DecodeString(head)
	sum, err2 := enc.DecodeString(tail)
	if err1 != nil || err2 != nil {
		return false
	}
	mac := hmac.New(sha256.New, h.cursorKey[:])
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), sum) && json.Unmarshal(body, v) == nil
}

type catalogCursor struct {
	Kind  string `json:"kind"`
	After int    `json:"after"`
}

const cursorSessions = "sessions"

func (h *Host) sessionCatalogQuery(c *conn, in *protocol.SessionCatalogQueryInput) (protocol.Result, error) {
	switch in.Kind {
	case protocol.QueryGet:
		out := &protocol.SessionCatalogQueryResult{Kind: protocol.KindSession}
		if s := h.catalog.find(in.SessionID); s != nil {
			item := h.liveItem(s)
			out.Session = &item
		}
		return out, nil
	case protocol.QueryListContinue:
		var cur catalogCursor
		if !h.readCursor(in.Cursor, &cur) || cur.Kind != cursorSessions {
			return nil, refusal(protocol.CodeInvalidRequest, "Session cursor is invalid")
		}
		list, rev := h.catalog.list()
		if actual := h.catalogRevision(rev); actual != in.Revision {
			return &protocol.SessionCatalogQueryResult{Kind: protocol.KindRevisionChanged, ExpectedRevision: in.Revision, ActualRevision: actual}, nil
		}
		return h.catalogPage(list, rev, cur.After), nil
	}
	list, rev := h.catalog.list()
	return h.catalogPage(list, rev, 0), nil
}

// catalogPage shows the sessions from the given place on, within a page's bounds.
func (h *Host) catalogPage(list []*session, rev int64, from int) protocol.Result {
	page := &protocol.SessionCatalogQueryResult{Kind: protocol.KindPage, Revision: h.catalogRevision(rev), Sessions: []protocol.SessionItem{}}
	size := 0
	for i := from; i < len(list); i++ {
		item := h.liveItem(list[i])
		size += itemSize(item)
		if len(page.Sessions) == protocol.MaxCatalogItems || (len(page.Sessions) > 0 && size > protocol.MaxCatalogBytes) {
			cursor := h.signCursor(catalogCursor{Kind: cursorSessions, After: i})
			page.NextCursor = &cursor
			break
		}
		page.Sessions = append(page.Sessions, item)
	}
	return page
}

// itemSize is about the JSON size of an item, never less.
func itemSize(item protocol.SessionItem) int {
	data, _ := json.Marshal(item)
	return len(data)
}

// The Host has one project: its working folder.
const (
	projectID  = "default"
	modelNone  = "none"
	backendOur = "askback"
)

func (h *Host) projectCatalogQuery(c *conn, in *protocol.ProjectCatalogQueryInput) (protocol.Result, error) {
	revision := "sha256:" + digest([]byte(h.epoch), []byte("projects"))
	if in.Kind == protocol.QueryListContinue {
		if in.Revision != revision {
			return &protocol.ProjectCatalogQueryResult{Kind: protocol.KindRevisionChanged, ExpectedRevision: in.Revision, ActualRevision: revision}, nil
		}
		return nil, refusal(protocol.CodeInvalidRequest, "Project cursor is invalid")
	}
	var first int64
	return &protocol.ProjectCatalogQueryResult{
		Kind: protocol.KindPage, View: protocol.ViewSummary, Revision: revision, ProjectCount: 1,
		Items: []protocol.ProjectItem{{
			Kind: "project", ID: projectID, Name: h.opt.projectName(), LocationCount: 1,
			PreferredLocationIndex: &first, Available: true,
		}},
	}, nil
}

// connectionCatalog is the answer to connection.catalog.query: one target that calls no
// model.
var connectionCatalog = json.RawMessage(`{"kind":"page","revision":1,"defaultTarget":{"connectionId":"none","modelId":"none"},"connectionCount":1,` +
	`"items":[{"kind":"connection","connectionIndex":0,"connectionId":"none","revision":1,"slug":"none","name":"No model","providerType":"none",` +
	`"enabled":true,"modelSource":"fallback","modelsFetchedAt":0,"enabledModelIdCount":1,"modelCount":1},` +
	`{"kind":"enabled_model_id","connectionIndex":0,"itemIndex":0,"modelId":"none"},` +
	`{"kind":"model","connectionIndex":0,"itemIndex":0,"model":{"id":"none"}}],"nextCursor":null}`)
