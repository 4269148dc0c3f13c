package tui

import (
	"errors"
	"testing"

	"askback/tui/hostview"
)

// One key puts an arguments form away, and loses nothing of what was typed in it.
func TestArgumentsAreKept(t *testing.T) {
	for _, leave := range []string{"esc", "ctrl+c", "ctrl+f"} {
		d := connected(t, 80, 24)
		d.press("ctrl+t").typing("deploy").press("enter").tick(past).typing("build-42").press(leave).want("kept until this tool is called").wantNot("build-42")
		d.press("esc", "esc", "ctrl+t").typing("deploy").press("enter").want("> build-42", "as you left it")
		d.tick(past).typing("x").press("ctrl+s").tick(past).press("s")
		if d.host.count(`start /call demo/deploy {"artifact":"build-42x"}`) != 1 {
			t.Errorf("%s: calls %q", leave, d.host.calls)
		}
		if d.press("ctrl+t").typing("deploy").press("enter").wantNot("build-42", "as you left it"); len(d.m.args) != 0 {
			t.Errorf("%s: %d drafts after the call", leave, len(d.m.args))
		}
	}
	d := connected(t, 80, 24)
	d.press("ctrl+t").typing("deploy").press("enter").tick(past).press("esc").wantNot("kept until")
	d.press("enter").tick(past).typing("other").press("esc")
	d.m.tools[0].InputSchema = []byte(`{"type":"object","properties":{"artifact":{"type":"integer"}}}`)
	d.press("enter").wantNot("other", "as you left it")
}

// The same of arguments that are written as JSON.
func TestRawArgumentsAreKept(t *testing.T) {
	for _, leave := range []string{"esc", "ctrl+c"} {
		d := connected(t, 80, 24)
		d.press("ctrl+t").typing("nested").press("ctrl+r").typing(`"where":1`).press(leave).want("kept until this tool is called")
		d.press("ctrl+r").want(`{"where":1}`).press("ctrl+s")
		if d.host.count(`start /call demo/nested {"where":1}`) != 1 || len(d.m.args) != 0 {
			t.Errorf("%s: calls %q, %d drafts", leave, d.host.calls, len(d.m.args))
		}
		d.press("ctrl+t").typing("nested").press("ctrl+r").wantNot("where").press("esc").wantNot("kept until")
	}
}

// Arguments of a call that could not be made are there when it is tried again.
func TestArgumentsOfAFailedCall(t *testing.T) {
	fill := func(d *driver) *driver {
		d.press("ctrl+t").typing("deploy").press("enter").tick(past).typing("build-42").press("ctrl+s").tick(past).press("s")
		return d
	}
	again := func(d *driver) {
		t.Helper()
		d.press("ctrl+t").typing("deploy").press("enter").want("> build-42").tick(past).press("ctrl+s").tick(past).press("s")
		if d.host.count(`start /call demo/deploy {"artifact":"build-42"}`) == 0 || len(d.m.args) != 0 {
			t.Errorf("calls %q, %d drafts", d.host.calls, len(d.m.args))
		}
	}
	d := connected(t, 80, 24)
	lost(d)
	fill(d).want("not reachable now")
	d.tell(ready(oursAt("wss://devbox:7443"))...)
	again(d)
	d = connected(t, 80, 24)
	d.typing("a text of mine")
	d.host.fail["start"] = errors.New("no")
	fill(d).want("not sent: no", "a text of mine")
	delete(d.host.fail, "start")
	again(d)
	d = connected(t, 80, 24)
	d.typing("a text of mine")
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("running")})
	fill(d).want("a Turn is running", "a text of mine")
	d.tell(hostview.Projection{SessionID: "s1", Turn: turn("completed")})
	again(d)
}
