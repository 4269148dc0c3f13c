package hostsuite

import (
	"strings"
	"testing"

	"askback/hostclient"
	"askback/protocol"
)

func (s *suite) handshake(t *testing.T) {
	c := s.view.Connection()
	if c.State != hostclient.StateReady || c.Host.RootID == "" || c.Host.HostEpoch == "" {
		t.Errorf("the connection is %+v", c)
	}
	if c.Host.Forms() != s.target.Forms {
		t.Errorf("the Host speaks %s", c.Host.Dialect)
	}
	st, err := s.view.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.State != protocol.HostReady || st.HostEpoch != c.Host.HostEpoch || st.CompositionID != protocol.CompositionID {
		t.Errorf("the status is %+v", st)
	}
	if s.provider.CanAsk() != s.target.Forms {
		t.Errorf("CanAsk is %v", s.provider.CanAsk())
	}
}

func (s *suite) catalog(t *testing.T) {
	id := s.session(t)
	list, err := s.view.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, item := range list {
		found = found || item.ID == id
	}
	if !found {
		t.Errorf("the new session is not among %d", len(list))
	}
	find(t, s.view, "first snapshot", func(e hostclient.SessionOpened) bool {
		return e.SessionID == id && e.Snapshot.RootTurn == nil && len(e.Snapshot.Interactions.Pending) == 0
	})
	if item, err := s.view.Session(t.Context(), "no-such-session"); err != nil || item != nil {
		t.Errorf("an unknown session is %+v, %v", item, err)
	}
	_, err = s.view.Turn(t.Context(), id, "no-such-turn")
	if hostclient.RefusalOf(err) != protocol.CodeNotFound {
		t.Errorf("an unknown Turn: %v", err)
	}
}

func (s *suite) call(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("echo", `{"text":"hi","n":12345678901234567890}`))
	row := s.result(t, turn)
	if *row.IsError || !strings.Contains(said(row), `"hi"`) {
		t.Errorf("the result is %q", said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted)
	for _, typ := range []string{protocol.EventToolStart, protocol.EventToolResult} {
		find(t, s.view, typ, func(e hostclient.ToolActivity) bool {
			return e.SessionID == id && e.Event.Type == typ && e.Event.ToolUseID == row.ToolUseID
		})
	}
	// The same Turn again is the same Turn; another content is a conflict.
	in := protocol.TurnStartInput{SessionID: id, TurnID: turn.TurnID, Content: protocol.Content{Text: s.callText("echo", `{"text":"hi","n":12345678901234567890}`)}}
	again, err := s.view.StartTurn(t.Context(), in)
	if err != nil || again.Turn.RunID != turn.RunID {
		t.Errorf("the same Turn again: %+v, %v", again, err)
	}
	in.Content.Text = "something else"
	if _, err := s.view.StartTurn(t.Context(), in); hostclient.RefusalOf(err) != protocol.CodeOperationConflict {
		t.Errorf("another Turn of the same id: %v", err)
	}
}

func (s *suite) progress(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("steps", ""))
	row := s.result(t, turn)
	last := find(t, s.view, "progress", func(e hostclient.ToolActivity) bool {
		return e.Event.Type == protocol.EventToolProgress && e.Event.ToolUseID == row.ToolUseID && e.Event.Chunk == "steps:3/3"
	})
	if last.SessionID != id {
		t.Errorf("progress of session %s", last.SessionID)
	}
	s.ends(t, turn, protocol.TurnCompleted)
}

func (s *suite) chunkedResult(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("large", ""))
	row := s.result(t, turn)
	kept := row.Content.Kind == protocol.RowContentText || row.Content.Kind == protocol.RowContentJSON
	if *row.IsError || (kept && len(said(row)) != largeSize) {
		t.Errorf("%d of %d bytes came: %.80s", len(said(row)), largeSize, said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted)
}

func (s *suite) failed(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("explode", ""))
	row := s.result(t, turn)
	if !*row.IsError || said(row) != explosion {
		t.Errorf("the result is %q", said(row))
	}
	s.ends(t, turn, protocol.TurnCompleted) // whatever the tool said
}

func (s *suite) parallel(t *testing.T) {
	id := s.session(t)
	lines := strings.Repeat(s.callText("echo", `{"n":1}`)+"\n", 4)
	turn := s.start(t, id, strings.TrimSpace(lines))
	uses := map[string]bool{}
	for _, row := range s.results(t, turn, 4) {
		uses[row.ToolUseID] = true
		if *row.IsError {
			t.Errorf("the result is %q", said(row))
		}
	}
	if len(uses) != 4 {
		t.Errorf("%d calls", len(uses))
	}
	s.ends(t, turn, protocol.TurnCompleted)
}

// rows wants a second view, which comes later, to read the same transcript.
func (s *suite) rows(t *testing.T) {
	id := s.session(t)
	turn := s.start(t, id, s.callText("large", ""))
	first := s.result(t, turn)
	s.ends(t, turn, protocol.TurnCompleted)
	late := watch(t, hostclient.NewView(s.target.Options))
	if err := late.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := late.Show(t.Context(), id, hostclient.ShowOptions{Rows: true}); err != nil {
		t.Fatal(err)
	}
	e := find(t, late, "rows", func(e hostclient.TranscriptRows) bool { return e.SessionID == id && e.Reset })
	rows, more := e.Rows, e.HasOlder
	for more {
		older, again, err := late.OlderRows(t.Context(), id, 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		rows, more = append(older, rows...), again
	}
	found := false
	for i, row := range rows {
		if i > 0 && row.Index <= rows[i-1].Index {
			t.Errorf("row %d comes after row %d", row.Index, rows[i-1].Index)
		}
		found = found || (row.Type == protocol.RowToolResult && row.ToolUseID == first.ToolUseID && said(row) == said(first))
	}
	if !found {
		t.Errorf("the result is not among %d rows", len(rows))
	}
}

func (s *suite) unregister(t *testing.T) {
	if err := s.provider.Publish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	// A session that was bound to the provider is not blocked by one that left in
	// good order.
	id := s.session(t)
	if _, err := s.view.StartTurn(t.Context(), protocol.TurnStartInput{SessionID: id, TurnID: hostclient.NewID(), Content: protocol.Content{Text: "hello"}}); err != nil {
		t.Errorf("a Turn after the offers were taken back: %v", err)
	}
}
