package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"askback/forms"
	"askback/hostclient"
	"askback/protocol"
)

func newPending(g *globals) *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the forms that wait for an answer on a Host",
		Long: `pending lists what waits for a person in every session of the Host, as SESSION/INTERACTION. With --watch it goes on
and tells what is added and what is closed, one JSON value a line with --json.`,
		Example: "  askback pending --host wss://devbox:7443 --token-file token --json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := g.needHost("pending"); err != nil {
				return err
			}
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			return withView(ctx, g, func(v *hostclient.View) error {
				if watch {
					return newWatcher(g, v, asJSON).run(ctx)
				}
				return listPending(ctx, g, v, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, or one value a line with --watch")
	cmd.Flags().BoolVar(&watch, "watch", false, "go on, and tell additions and closures")
	return cmd
}

// quietTime is how long a command waits for a Host without a word.
const quietTime = 5 * time.Second

// withView runs f on a view connection to the Host that --host names.
func withView(ctx context.Context, g *globals, f func(*hostclient.View) error) error {
	log, closeLog, err := g.logger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	t, err := g.openTarget("", log)
	if err != nil {
		return err
	}
	defer t.close()
	v := hostclient.NewView(t.view)
	defer v.Close()
	if err := g.awaitHost(ctx, v.Ready); err != nil {
		return connectError(err)
	}
	if !v.Connection().Host.Forms() {
		fmt.Fprintln(g.env.stderr, "askback: this Host cannot show forms: tools that ask for input fail there")
	}
	return f(v)
}

// awaitHost waits until the Host is ready, and says so where that takes long.
func (g *globals) awaitHost(ctx context.Context, ready func(context.Context) error) error {
	quiet := time.AfterFunc(quietTime, func() {
		fmt.Fprintln(g.env.stderr, "askback: waiting for the Host …")
	})
	defer quiet.Stop()
	return ready(ctx)
}

func listPending(ctx context.Context, g *globals, v *hostclient.View, asJSON bool) error {
	all, err := collectPending(ctx, g, v)
	if err != nil {
		return connectError(err)
	}
	if !asJSON {
		for _, in := range all {
			fmt.Fprintln(g.env.stdout, pendingLine(in))
		}
		return nil
	}
	out := []json.RawMessage{}
	for _, in := range all {
		raw, err := protocol.ShowInteraction(&in)
		if err != nil {
			return err
		}
		out = append(out, raw)
	}
	return printJSON(g.env.stdout, out)
}

// collectPending reads the catalog, then one session at a time.
func collectPending(ctx context.Context, g *globals, v *hostclient.View) ([]protocol.Interaction, error) {
	ids, err := waitingSessions(ctx, g, v)
	if err != nil {
		return nil, err
	}
	var all []protocol.Interaction
	for _, id := range ids {
		snapshot, err := peek(ctx, v, id)
		if err != nil {
			return nil, err
		}
		if snapshot != nil {
			all = append(all, snapshot.Interactions.Pending...)
		}
	}
	return all, nil
}

// waitingSessions are the sessions that may hold something pending, the most recently used first.
func waitingSessions(ctx context.Context, g *globals, v *hostclient.View) ([]string, error) {
	if g.session != "" {
		id, err := findSession(ctx, v, g.session)
		return []string{id}, err
	}
	items, err := v.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(s protocol.SessionItem) bool { return !mayWait(s) })
	slices.SortStableFunc(items, func(a, b protocol.SessionItem) int { return cmp.Compare(b.LastUsedAt, a.LastUsedAt) })
	ids := make([]string, len(items))
	for i, s := range items {
		ids[i] = s.ID
	}
	return ids, nil
}

// atRest are the statuses of sessions in which nothing waits.
var atRest = []protocol.SessionStatus{protocol.SessionActive, protocol.SessionBlocked, protocol.SessionAborted}

// mayWait goes by the status and by the running Turns: a form is pending a little before the status says so.
func mayWait(s protocol.SessionItem) bool {
	if s.LiveRunState != nil && len(s.LiveRunState.RunningTurnIDs) > 0 {
		return true
	}
	// A status of a newer Host may mean anything. A record that the Host cannot show has none, and cannot be opened.
	return s.Kind != protocol.KindUnsupportedLegacyRecord && !slices.Contains(atRest, s.Status)
}

// peek is a session's snapshot now; nil for a session that has gone meanwhile.
func peek(ctx context.Context, v *hostclient.View, id string) (*protocol.Snapshot, error) {
	snapshot, err := v.Peek(ctx, id)
	if code := hostclient.RefusalOf(err); code == protocol.CodeNotFound || code == protocol.CodeInternalFailure {
		return nil, nil // an unknown session answers either
	}
	return snapshot, err
}

// pendingLine is one pending Interaction for people.
func pendingLine(in protocol.Interaction) string {
	head := in.SessionID + "/" + in.InteractionID
	switch req := in.Request.(type) {
	case *protocol.FormRequest:
		return fmt.Sprintf("%s  %s: %s", head, requesterLine(req.Form.Requester), forms.Line(req.Form.Message))
	case *protocol.QuestionRequest:
		if len(req.Questions) > 0 {
			return fmt.Sprintf("%s  question: %s", head, forms.Line(req.Questions[0].Question))
		}
	}
	return fmt.Sprintf("%s  %s", head, in.Request.Kind())
}
