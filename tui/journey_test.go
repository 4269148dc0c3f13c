package tui_test

import (
	"testing"
	"time"

	"askback/forms"
	"askback/tui"
)

// ready is a surface with its session open.
func (w *world) ready(own bool) *surface {
	return w.open(own).see("session work", "Nothing was said")
}

func TestJourneyDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true)
	s.keys("ctrl+t").see("demo/deploy").keys("enter").see("arguments · deploy · demo")
	s.pause().typing("build-42").see("> build-42").keys("ctrl+s").see("s call").pause().keys("s")
	s.see("deploy · demo · via rig", "! Never enter passwords, API keys, access tokens or payment data here.", "Choose the target of build-42")
	s.pause().keys("down", "down", "enter").see("Confirm (required)").keys("down", "enter").see("nothing is sent yet")
	s.pause().keys("s").see("demo · done", "Deployed build-42 to production.", "enter send")
	if n := s.screen.Bells(); n != 1 {
		t.Errorf("%d bells", n)
	}
	if w.called() != 1 || len(w.given()) != 1 {
		t.Errorf("%d calls, answers %v", w.called(), w.given())
	}
	s.keys("ctrl+q")
	if out := <-s.out; out.Reason != tui.ReasonQuit || len(out.Stopped) != 0 {
		t.Errorf("outcome %+v", out)
	}
	if s.screen.AltScreen() {
		t.Error("the alternate screen was not left")
	}
}

func TestJourneySurvey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send("/call demo/survey")
	s.see("All kinds").pause()
	s.keys("tab").see("field 2 of 6").typing("x").keys("ctrl+s").see("is not a whole number", "put right").pause().keys("s")
	s.keys("esc").see("field 2 of 6").keys("\x7f").typing("3").keys("enter").see("field 3 of 6").typing("0.5").keys("enter")
	s.see("field 4 of 6").keys("down", "enter").see("field 5 of 6").keys("down", "enter")
	s.see("field 6 of 6").keys("down", "space", "ctrl+s").see("name: (left out)", "count: 3", "ratio: 0.5", "sure: Yes", "Environment: staging")
	s.pause().keys("s").see("Thank you for")
	got := w.given()
	if len(got) != 1 {
		t.Fatalf("answers: %v", got)
	}
	v := got[0].Values
	if _, ok := v["name"]; ok || v["count"].Number().String() != "3" || v["ratio"].Number().String() != "0.5" || !v["sure"].Bool() {
		t.Errorf("values: %v", v)
	}
}

func TestJourneyWizard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send("/call demo/wizard")
	s.see("First step").pause().keys("down", "enter").see("field 2 of 2").typing("carried").see("> carried").keys("ctrl+s").see("nothing is sent yet").pause().keys("s")
	s.see("Second step", "carried", "last answer").pause().keys("ctrl+s").see("note: carried").pause().keys("s")
	s.see("The wizard is done with carried.")
	if w.called() != 1 || len(w.given()) != 2 {
		t.Errorf("%d calls, answers %v", w.called(), w.given())
	}
}

func TestJourneyTwoForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`, `/call demo/deploy {"artifact":"two"}`)
	s.see("form 1 of 2").pause()
	s.keys("down", "enter").see("Confirm (required)").keys("ctrl+n").see("form 2 of 2").pause()
	s.keys("down", "down", "enter").see("Confirm (required)").keys("down", "enter").see("nothing is sent yet").pause().keys("s")
	// The other one comes on screen with what was chosen before.
	s.see("Environment (required): staging").gone("form 2 of 2")
	s.pause().keys("down", "enter").see("nothing is sent yet").pause().keys("s")
	s.see("Deployed one to", "Deployed two to")
	if w.called() != 2 {
		t.Errorf("%d calls", w.called())
	}
}

func TestJourneyAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`)
	s.see("Choose the target").pause().keys("down", "enter").see("Confirm (required)")
	other := w.open(false).see("Choose the target of one")
	other.pause().keys("ctrl+x").see("tell the server no?").pause().keys("y")
	other.see("demo · failed")
	s.see("Answered elsewhere: declined", "What you typed").pause().keys("esc").see("demo · failed", "answered elsewhere (declined)")
	if got := w.given(); len(got) != 1 || got[0].Action != forms.ActionDecline {
		t.Errorf("answers: %v", got)
	}
}

func TestJourneyHostLostAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send("/call demo/wizard")
	s.see("First step").pause().keys("down", "enter").see("field 2 of 2").typing("draft").see("> draft")
	s.line.cut(true)
	s.see("reconnecting", "> draft").keys("ctrl+s").see("note: draft").pause().keys("s")
	time.Sleep(50 * time.Millisecond)
	if len(w.given()) != 0 {
		t.Fatal("an answer went over a lost line")
	}
	s.line.cut(false)
	s.view.Retry()
	s.gone("reconnecting").see("note: draft").pause().keys("s").see("Second step")
	if w.called() != 1 {
		t.Errorf("%d calls", w.called())
	}
}

func TestJourneyServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send("/call demo/kill")
	s.see("Does not get far").pause().typing("typed by hand").see("> typed by hand")
	close(w.kill)
	s.see("its tool call waits for it no more: connection_lost: the server", "typed by hand").pause().keys("esc").see("demo · failed", "connection_lost: the server demo has ended")
	if len(w.given()) != 0 {
		t.Errorf("answers: %v", w.given())
	}
}

func TestJourneyProviderLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`)
	s.see("Choose the target").pause().keys("down")
	w.tools.cut(false)
	s.see("the provider of the tool was lost").pause().keys("esc").see("outcome unknown").see("after it had begun")
	if w.called() != 1 || len(w.given()) != 0 {
		t.Errorf("%d calls, answers %v", w.called(), w.given())
	}
}

func TestJourneyStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`)
	s.see("Choose the target").pause().keys("ctrl+c").see("ctrl+c again to stop the Turn")
	for range 20 { // a busy machine may be too slow for the second one
		if s.keys("ctrl+c", "ctrl+c").within(500*time.Millisecond, "the Turn was stopped") {
			break
		}
	}
	s.see("the Turn was stopped").pause().keys("esc").see("the Turn was stopped", "ctrl+t tools")
	if len(w.given()) != 0 {
		t.Errorf("answers: %v", w.given())
	}
	// And the session goes on.
	s.send(`/call demo/deploy {"artifact":"two"}`).see("Choose the target of two")
}

// Quitting stops our Turn and answers nothing; a surface that only looks leaves the form for another.
func TestJourneyQuit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`)
	s.see("Choose the target").pause()
	looking := w.open(false).see("Choose the target of one").pause()
	looking.keys("ctrl+q").see("It goes on without this program").pause().keys("y")
	if out := <-looking.out; out.Reason != tui.ReasonQuit || len(out.Stopped) != 0 {
		t.Errorf("outcome %+v", out)
	}
	again := w.open(false).see("Choose the target of one")
	s.see("Choose the target of one").keys("ctrl+q").see("leaving stops it").pause().keys("y")
	if out := <-s.out; out.Reason != tui.ReasonQuit || len(out.Stopped) != 1 {
		t.Errorf("outcome %+v", out)
	}
	again.see("the Turn was stopped")
	if len(w.given()) != 0 {
		t.Errorf("answers: %v", w.given())
	}
}

// A form that is answered while its session is not shown: its end is told on the way back, with the draft.
func TestJourneySessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ready(true).send(`/call demo/deploy {"artifact":"one"}`)
	s.see("Choose the target").pause().keys("down", "enter").see("Confirm (required)").keys("ctrl+f").see("ctrl+f form (1)")
	s.send("/new other").see("Nothing was said", "1 other session waits")
	looking := w.open(false)
	looking.see("ready").keys("\x07").see("sessions").typing("work").see("> ", "work").keys("enter")
	looking.see("Choose the target of one").pause().keys("ctrl+x").see("tell the server no?").pause().keys("y").see("demo · failed")
	s.gone("other session waits").keys("\x07").see("sessions").typing("work").keys("enter")
	s.see("Answered elsewhere: declined", "Environment: staging").pause().keys("esc").see("demo · failed")
	if got := w.given(); len(got) != 1 {
		t.Errorf("answers: %v", got)
	}
}
