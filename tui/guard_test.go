package tui

import (
	"errors"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"askback/forms"
	"askback/tui/hostview"
	"askback/tui/kit"
)

// speed is how fast somebody types.
const speed = 100 * time.Millisecond

// going types on, as somebody does who has not looked at the screen.
func (d *driver) going(s string) *driver {
	for _, r := range s {
		d.typing(string(r)).tick(speed)
	}
	return d
}

func asks(d *driver, waiting ...hostview.Interaction) {
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("waiting_for_user"), Pending: waiting})
}

func closes(d *driver, reason string) *driver {
	return d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")},
		hostview.Settled{SessionID: "s1", InteractionID: "i1", Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: reason}})
}

// A form that opens under what somebody writes takes nothing of it, says so, and stops saying so by itself.
func TestTypingOnOverAForm(t *testing.T) {
	consent := forms.Form{Message: "Delete it?", Requester: forms.Requester{Name: "rm"}}
	for _, waited := range []time.Duration{0, past} {
		d := calling(t, 80, 24)
		asks(d, interaction("i1", "call1", consent))
		d.tick(waited).going("this is about yes and no").want("keys are ignored until you pause")
		if n := d.host.count("answer"); n != 0 {
			t.Errorf("after %v: %d answers of a text", waited, n)
		}
		if d.tick(kit.Pause).wantNot("keys are ignored").press("s"); d.host.count("answer") != 1 {
			t.Errorf("after %v: no answer after a pause", waited)
		}
	}
}

// ctrl+c stops whatever is typed.
func TestCtrlCInsideOfTheGuard(t *testing.T) {
	d := asking(t, 80, 24)
	d.going("abc").press("ctrl+c").want("ctrl+c again to stop the Turn").press("ctrl+c")
	if d.host.count("stop") != 1 {
		t.Errorf("calls: %v", d.host.calls)
	}
	d = calling(t, 80, 24)
	d.press("ctrl+q").want("leave askback?").press("ctrl+c").wantNot("leave askback?")
}

// A question that lies over what somebody writes is answered by none of it.
func TestTypingOnOverAQuestion(t *testing.T) {
	for _, waited := range []time.Duration{0, past} {
		d := calling(t, 80, 24)
		d.press("ctrl+q").tick(waited).going("why say yes, my boy").want("leave askback?", "keys are ignored until you do")
		if d.quit {
			t.Fatalf("after %v: a text left the program", waited)
		}
		if d.tick(kit.Pause).wantNot("keys are ignored").press("ctrl+y"); !d.quit {
			t.Errorf("after %v: still there\n%s", waited, d.frame())
		}
	}
	d := calling(t, 80, 24)
	if d.press("ctrl+q").tick(past).going(" y"); d.quit {
		t.Error("a y behind a blank left the program")
	}
}

// What was typed in a form that closes meanwhile outlives typing on, a third ctrl+c, and ctrl+f.
func TestClosedFormOutlivesItsKeys(t *testing.T) {
	typed := func() *driver {
		d := asking(t, 80, 24)
		d.tick(past).press("down", "enter", "down", "enter").typing("typed by hand")
		return d
	}
	d := closes(typed(), "provider_disconnected").going("quick cc").press("enter", "q").want("typed by hand")
	if len(d.term.copied) != 0 {
		t.Errorf("a letter of a text went to the clipboard: %q", d.term.copied)
	}
	d.tick(past).press("ctrl+f").wantNot("typed by hand").want("ctrl+f shows the closed form again").press("ctrl+f").want("typed by hand")

	d = typed()
	d.hold = true
	d.press("ctrl+c", "ctrl+c")
	d.hold = false
	d = closes(d, "turn_stopped").press("ctrl+c").want("typed by hand", "has closed")
	d.tick(past).press("ctrl+c").wantNot("typed by hand").want("ctrl+f shows the closed form again")
	d.press("ctrl+f").want("typed by hand").tick(past).press("esc").wantNot("closed form", "typed by hand")
}

// What is said of one closed form is not said of the next.
func TestNoticeGoesWithItsForm(t *testing.T) {
	d := asking(t, 80, 24)
	d.tick(past).press("down", "enter")
	asks(d, interaction("i1", "call1", deployForm()), interaction("i2", "call2", deployForm()))
	d.press("ctrl+n").tick(past)
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")})
	for _, id := range []string{"i1", "i2"} {
		d.tell(hostview.Settled{SessionID: "s1", InteractionID: id, Outcome: hostview.Outcome{Status: hostview.StatusClosed, Reason: "turn_stopped"}})
	}
	d.press("ctrl+n").tick(past).press("c").want("given to the terminal to copy").press("ctrl+c").wantNot("given to the terminal")
}

// A question comes back from under a form, or from a window that was too small, as one that has just opened.
func TestQuestionComesBackGuarded(t *testing.T) {
	d := calling(t, 80, 24)
	d.press("ctrl+q").tick(past)
	asks(d, interaction("i1", "call1", forms.Form{Message: "Delete it?", Requester: forms.Requester{Name: "rm"}}))
	if d.tick(past).press("s").want("leave askback?").press("y"); d.quit {
		t.Error("the key behind the answer left the program")
	}
	for _, back := range []func(){
		func() {
			d.send(tea.WindowSizeMsg{Width: 30, Height: 5})
			d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		},
		func() { d.send(tea.ResumeMsg{}) },
	} {
		d.tick(past)
		if back(); d.press("y").quit {
			t.Fatal("a key of another screen left the program")
		}
	}
	d = asking(t, 80, 24)
	d.tick(past).press("ctrl+x").tick(past)
	d.send(tea.WindowSizeMsg{Width: 30, Height: 5})
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	if d.press("y").host.count("answer") != 0 {
		t.Error("a key of another screen declined")
	}
}

// A session that goes, or that cannot be opened again, takes nothing along that was typed in its forms.
func TestDraftsOutliveTheirSession(t *testing.T) {
	typed := func() *driver {
		d := asking(t, 80, 24)
		d.tick(past).press("down", "enter", "down", "enter").typing("typed by hand")
		return d
	}
	d := typed().tell(hostview.Removed{SessionID: "s1"}).want("Closed without an answer", "this session was removed", "typed by hand")
	d.tick(past).press("c")
	if len(d.term.copied) != 1 {
		t.Errorf("copied %q", d.term.copied)
	}
	d.press("ctrl+f").want("sessions").press("esc")
	d.typing("/new other").press("enter").want("typed by hand").tick(past).press("esc").wantNot("typed by hand")

	d = typed()
	d.press("ctrl+f").typing("/new other").press("enter")
	d.host.fail["open"] = errors.New("no way")
	d.m.openSession("s1")
	d.run(d.m.openSession("s1"))
	d.press("esc")
	delete(d.host.fail, "open")
	d.run(d.m.openSession("s1"))
	d.want("typed by hand")
}
