package formview

import (
	"time"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/theme"
)

// Request is one form to show.
type Request struct {
	ID   string     // of the Interaction; comes back in every Action
	Form forms.Form // as the Host stores it

	Position, Total int // place in the queue, from 1; no place is shown for a Total under 2

	// Earlier are the answers that the same tool call was given before. Fields of the same name and kind start from
	// them, never those that look like a secret.
	Earlier draft.Answers

	// Arguments makes it a form for the arguments of a tool the person calls: nobody asks, so there is nothing to
	// decline, and dismissing is leaving.
	Arguments bool
}

// Options are what a Model needs beside its Request. Theme must be set; Now is time.Now where it is nil.
type Options struct {
	Theme *theme.Theme
	Now   func() time.Time
}

// The smallest window that a form fits into.
const (
	MinWidth  = 40
	MinHeight = 12
)

// Action is what a key asks of whoever shows the form. A Model acts on nothing but itself.
type Action interface{ action() }

// Submit is the answer that the person confirmed: exactly what review showed, or a confirmed decline or dismissal. The
// Model says "sending" until Answered, Refused or Closed is called.
type Submit struct {
	ID     string
	Result forms.Result
}

// Leave puts the form away without deciding; its draft stays in the Model.
type Leave struct{ ID string }

// Copy puts a text on the clipboard, on the person's request.
type Copy struct{ ID, Text string }

// Close ends the showing of a form that is settled.
type Close struct{ ID string }

func (Submit) action() {}
func (Leave) action()  {}
func (Copy) action()   {}
func (Close) action()  {}
