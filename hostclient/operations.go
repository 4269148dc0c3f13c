package hostclient

import (
	"context"
	"slices"
	"time"

	"askback/protocol"
)

const (
	// listPatience is how long a listing is started over while it changes between its pages.
	listPatience = 10 * time.Second
	// maxListed is how many items a listing may have, so that one which never ends does: a Host that gives the same
	// page again and again.
	maxListed = 50_000
)

// listAgain waits before a listing is started over, or ends it: a Turn changes the list many times in a moment, and a
// listing of many pages that have a long way can only be read whole between such moments.
func listAgain(ctx context.Context, what string, began time.Time, restarts int) error {
	if time.Since(began) > listPatience {
		return errorf(CodeUnknownOutcome, "the list of %s kept changing while it was read", what)
	}
	select {
	case <-time.After(50 * time.Millisecond << min(restarts, 3)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// listed checks a page that further ones follow.
func listed(what string, items, page int) *Error {
	switch {
	case page == 0:
		return violation("the Host sent an empty page of %s that is not the last", what)
	case items > maxListed:
		return violation("the Host lists more than %d %s", maxListed, what)
	}
	return nil
}

// Do asks for any operation. A Host that says host_not_ready is polled and asked again.
func (v *View) Do(ctx context.Context, in protocol.Input) (protocol.Result, error) {
	return v.keeper.do(ctx, in)
}

func ask[R protocol.Result](ctx context.Context, k *keeper, in protocol.Input) (R, error) {
	r, err := k.do(ctx, in)
	if err != nil {
		var none R
		return none, err
	}
	return r.(R), nil // the codec decodes a result by its operation
}

func (k *keeper) do(ctx context.Context, in protocol.Input) (protocol.Result, error) {
	for {
		l, none := k.current()
		if none != nil {
			return nil, none
		}
		r, err := l.do(ctx, in, nil)
		if RefusalOf(err) != protocol.CodeHostNotReady {
			return r, err
		}
		if err := l.pollReady(ctx, nil); err != nil {
			return nil, err
		}
	}
}

// Status asks how the Host is.
func (v *View) Status(ctx context.Context) (*protocol.HostStatusResult, error) {
	return ask[*protocol.HostStatusResult](ctx, v.keeper, &protocol.HostStatusInput{})
}

// Sessions lists all sessions as the Host orders them. A record that the Host cannot show has only Kind and ID.
func (v *View) Sessions(ctx context.Context) ([]protocol.SessionItem, error) {
	for began, restarts := time.Now(), 0; ; restarts++ {
		all, whole, err := v.listSessions(ctx)
		if err != nil || whole {
			return all, err
		}
		if err := listAgain(ctx, "sessions", began, restarts); err != nil {
			return nil, err
		}
	}
}

func (v *View) listSessions(ctx context.Context) (all []protocol.SessionItem, whole bool, err error) {
	in := &protocol.SessionCatalogQueryInput{Kind: protocol.QueryListStart}
	for {
		r, err := ask[*protocol.SessionCatalogQueryResult](ctx, v.keeper, in)
		if err != nil {
			return nil, false, err
		}
		if r.Kind != protocol.KindPage {
			return nil, false, nil
		}
		all = append(all, r.Sessions...)
		if r.NextCursor == nil {
			return all, true, nil
		}
		if bad := listed("sessions", len(all), len(r.Sessions)); bad != nil {
			return nil, false, bad
		}
		in = &protocol.SessionCatalogQueryInput{Kind: protocol.QueryListContinue, Revision: r.Revision, Cursor: *r.NextCursor}
	}
}

// Session is one session, or nil when the Host does not know it.
func (v *View) Session(ctx context.Context, sessionID string) (*protocol.SessionItem, error) {
	r, err := ask[*protocol.SessionCatalogQueryResult](ctx, v.keeper, &protocol.SessionCatalogQueryInput{Kind: protocol.QueryGet, SessionID: sessionID})
	if err != nil {
		return nil, err
	}
	return r.Session, nil
}

// CreateSession makes a session; idempotent for the same id and request. An empty SessionID is minted, an absent
// workspace is the Host's first available project, an absent model target the default one.
func (v *View) CreateSession(ctx context.Context, in protocol.SessionCreateInput) (*protocol.SessionItem, error) {
	if in.SessionID == "" {
		in.SessionID = NewID()
	}
	if in.ModelTarget.Kind == "" {
		in.ModelTarget.Kind = protocol.ModelDefault
	}
	if in.Workspace.Kind == "" {
		projects, err := v.Projects(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(projects, func(p protocol.ProjectItem) bool { return p.Available && p.ArchivedAt == nil })
		if i < 0 {
			return nil, errorf(CodeNoProject, "the Host has no project to create a session in")
		}
		in.Workspace = protocol.WorkspaceTarget{Kind: protocol.WorkspaceProject, ProjectID: projects[i].ID}
	}
	return ask[*protocol.SessionCreateResult](ctx, v.keeper, &in)
}

// RemoveSession deletes a session at the revision that the caller has seen. removed is false when it had another one.
func (v *View) RemoveSession(ctx context.Context, sessionID string, revision int64) (removed bool, err error) {
	r, err := ask[*protocol.SessionRemoveResult](ctx, v.keeper, &protocol.SessionRemoveInput{SessionID: sessionID, ExpectedRevision: revision})
	return err == nil && r.Kind == protocol.KindRemoved, err
}

// Projects lists all projects.
func (v *View) Projects(ctx context.Context) ([]protocol.ProjectItem, error) {
	var all []protocol.ProjectItem
	in := &protocol.ProjectCatalogQueryInput{Kind: protocol.QueryListStart, View: protocol.ViewSummary}
	for began, restarts := time.Now(), 0; ; {
		r, err := ask[*protocol.ProjectCatalogQueryResult](ctx, v.keeper, in)
		switch {
		case err != nil:
			return nil, err
		case r.Kind != protocol.KindPage:
			if err := listAgain(ctx, "projects", began, restarts); err != nil {
				return nil, err
			}
			restarts++
			all = nil
			in = &protocol.ProjectCatalogQueryInput{Kind: protocol.QueryListStart, View: protocol.ViewSummary}
			continue
		}
		all = append(all, r.Items...)
		if r.NextCursor == nil {
			return all, nil
		}
		if bad := listed("projects", len(all), len(r.Items)); bad != nil {
			return nil, bad
		}
		in = &protocol.ProjectCatalogQueryInput{Kind: protocol.QueryListContinue, View: protocol.ViewSummary, Revision: r.Revision, Cursor: *r.NextCursor}
	}
}

// StartTurn starts a Turn with an id that the caller minted: asking again with the same id and content after a loss
// starts nothing twice.
func (v *View) StartTurn(ctx context.Context, in protocol.TurnStartInput) (*protocol.TurnStartResult, error) {
	return ask[*protocol.TurnStartResult](ctx, v.keeper, &in)
}

// Turn is one Turn.
func (v *View) Turn(ctx context.Context, sessionID, turnID string) (*protocol.TurnSnapshot, error) {
	return ask[*protocol.TurnQueryResult](ctx, v.keeper, &protocol.TurnQueryInput{SessionID: sessionID, TurnID: turnID})
}

// StopTurn stops a Turn, and returns when it is terminal.
func (v *View) StopTurn(ctx context.Context, sessionID, turnID, runID string) (*protocol.TurnSnapshot, error) {
	return ask[*protocol.TurnStopResult](ctx, v.keeper, &protocol.TurnStopInput{SessionID: sessionID, TurnID: turnID, RunID: runID})
}

// Submit queues a message or starts a Turn with it, in the Host's present epoch. The caller mints the messageID.
func (v *View) Submit(ctx context.Context, sessionID, messageID string, content protocol.Content, place protocol.Placement) (*protocol.TurnMessageSubmitResult, error) {
	l, none := v.keeper.current()
	if none != nil {
		return nil, none
	}
	return ask[*protocol.TurnMessageSubmitResult](ctx, v.keeper, &protocol.TurnMessageSubmitInput{
		OriginHostEpoch: l.host.HostEpoch, SessionID: sessionID, MessageID: messageID, Content: content, Placement: place,
	})
}

// Interaction asks for one Interaction, also a settled one.
func (v *View) Interaction(ctx context.Context, sessionID, interactionID string) (*protocol.Interaction, error) {
	return ask[*protocol.InteractionQueryResult](ctx, v.keeper, &protocol.InteractionQueryInput{SessionID: sessionID, InteractionID: interactionID})
}

// Peek is a session's snapshot now, without showing it: it opens a subscription and closes it again. Nothing is told
// about it by Next.
func (v *View) Peek(ctx context.Context, sessionID string) (*protocol.Snapshot, error) {
	l, none := v.keeper.current()
	if none != nil {
		return nil, none
	}
	in := &protocol.SubscriptionOpenInput{SessionID: sessionID, Transcript: protocol.TranscriptRequest{Kind: protocol.TranscriptNone}}
	r, err := l.do(ctx, in, func(r protocol.Result) { // also for a caller that has left: a connection holds few
		v.mu.Lock()
		defer v.mu.Unlock()
		v.giveBack(l, r.(*protocol.SubscriptionOpenResult).SubscriptionID) // also when v.link is not l yet
	})
	if err != nil {
		return nil, err
	}
	return &r.(*protocol.SubscriptionOpenResult).Snapshot, nil
}
