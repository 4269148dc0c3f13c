package app

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"askback/hostclient"
)

// A Host that went away while a call ran is waited for as long as a restart takes, and not for ever.
func TestHostThatStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		c := &caller{g: &globals{env: &env{stderr: &errs}}, answered: make(chan askedAnswer, 1)}
		events := make(chan hostclient.Event)
		waiting := hostclient.Connection{State: hostclient.StateWaiting, Cause: &hostclient.Error{Message: "the line was cut"}}
		told := make(chan struct{})
		go func() {
			defer close(told)
			events <- waiting
			time.Sleep(lostTime - time.Second)
			events <- hostclient.Connection{State: hostclient.StateReady}
			time.Sleep(time.Hour)
			for range 10 { // one try after the other
				events <- waiting
				time.Sleep(4 * time.Second)
			}
		}()
		began := time.Now()
		err := c.follow(t.Context(), events)
		f, ok := errors.AsType[*callFailure](err)
		if took := time.Since(began); !ok || f.code != "outcome_unknown" || took != lostTime-time.Second+time.Hour+lostTime {
			t.Errorf("after %v: %v", took, err)
		}
		if n := strings.Count(errs.String(), "the line was cut; connecting again\n"); n != 2 {
			t.Errorf("told %d times: %q", n, errs.String())
		}
		for over := false; !over; { // what is told after the end
			select {
			case <-events:
			case <-told:
				over = true
			}
		}
	})
}
