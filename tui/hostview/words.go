package hostview

import "askback/forms"

// ActionName says what was decided.
func ActionName(a forms.Action) string {
	switch a {
	case forms.ActionAccept:
		return "accepted"
	case forms.ActionDecline:
		return "declined"
	}
	return "dismissed"
}

// ReasonWithdrawn is the reason of a form whose tool call has ended, or does not want it any more.
const ReasonWithdrawn = "producer_cancelled"

// WhyEnded says why an Interaction ended without an answer.
func WhyEnded(o Outcome) string {
	switch o.Status {
	case StatusGone:
		return "the Host does not know this form any more"
	case StatusUnknown:
		return "it ended; the Host did not say how"
	}
	switch o.Reason {
	case "turn_stopped":
		return "the Turn was stopped"
	case "turn_terminal":
		return "the Turn has ended"
	case "timed_out":
		return "nobody answered in time"
	case "host_restarted":
		return "the Host was restarted"
	case ReasonWithdrawn:
		return "its tool call waits for it no more"
	case "provider_disconnected":
		return "the provider of the tool was lost"
	}
	return forms.Line(o.Reason)
}

// FindSession is the session that a person means: by its id, or by its name where only one has it. n is how many match.
func FindSession(all []Session, want string) (s Session, n int) {
	var named []Session
	for _, s := range all {
		if s.ID == want {
			return s, 1
		}
		if s.Name == want {
			named = append(named, s)
		}
	}
	if len(named) == 1 {
		return named[0], 1
	}
	return Session{}, len(named)
}
