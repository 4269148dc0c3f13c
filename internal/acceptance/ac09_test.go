package acceptance

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"askback/protocol"
)

// 9. A view-only reconnect can recover and answer the exact still-live form; provider or Host restart closes it without
// replaying the Tool call.
func TestAC09_what_survives_a_restart(t *testing.T) { ac09(live{t}) }

func ac09(t T) {
	t.Parallel()
	const call = "/call demo/wizard {}"
	// open is a terminal on whose screen the wizard's first form has its first field half filled in.
	open := func(m *machines, p *person) {
		p.see("Step 1 of 2")
		p.ready()
		p.press("a", "s", "k")
		p.see("> ask")
	}
	// fill fills in and submits what open left, then the second form.
	fill := func(p *person) {
		p.text("b")
		p.see("> askb")
		p.press("\r")
		p.see("field 2 of 2")
		p.press(keyDown)
		p.see("> ( ) library")
		p.press("\r")
		p.see("askb", "library", "s submit")
		p.ready()
		p.press("s")
		p.see("details of the library askb")
		p.ready()
		p.press(ctrlS)
		p.see("8080", "s submit")
		p.ready()
		p.press("s")
		p.see("Created the library askb on port 8080.")
	}
	t.Run("view_reconnect", func(t T) {
		t.Parallel()
		m := startMachines(t)
		session := m.session()
		p := m.both(session)
		p.enter(call)
		open(m, p)
		before := m.asked(session)
		back := m.relay.keepAway(asView)
		p.see("reconnecting", "> ask")
		back()
		p.gone("reconnecting")
		p.see("Step 1 of 2", "> ask") // the draft
		if now := m.asked(session); now.InteractionID != before.InteractionID {
			t.Errorf("the form was %s and is %s", before.InteractionID, now.InteractionID)
		}
		fill(p)
		m.answered(before, "accept")
		m.clean(3, session)
	})
	t.Run("tui_restart", func(t T) {
		// The terminal that runs the tools, too: its end is the provider's.
		t.Run("with_its_provider", func(t T) {
			t.Parallel()
			m := startMachines(t)
			session := m.session()
			p := m.both(session)
			p.enter(call)
			open(m, p)
			in := m.asked(session)
			p.end(syscall.SIGKILL)
			m.closedAs(in, protocol.ClosedProviderDisconnected)
			p = m.both(session)
			p.see("outcome unknown")
			m.clean(1, session)
			p.enter("/call demo/plain {}")
			p.see("hello")
			m.clean(2, session)
		})
		// The terminal alone: the form waits for the next one.
		t.Run("view_only", func(t T) {
			t.Parallel()
			m := startMachines(t)
			session := m.session()
			m.provide()
			p := m.attach(session)
			p.enter(call)
			open(m, p)
			in := m.asked(session)
			p.end(syscall.SIGKILL)
			p = m.attach(session)
			open(m, p)
			if now := m.asked(session); now.InteractionID != in.InteractionID {
				t.Errorf("the form was %s and is %s", in.InteractionID, now.InteractionID)
			}
			fill(p)
			m.answered(in, "accept")
			m.clean(3, session)
		})
	})
	t.Run("provider_restart", func(t T) {
		t.Run("process", func(t T) {
			t.Parallel()
			m := startMachines(t)
			session := m.session()
			d := m.provide()
			p := m.attach(session)
			p.enter(call)
			open(m, p)
			in := m.asked(session)
			d.end(syscall.SIGKILL)
			m.closedAs(in, protocol.ClosedProviderDisconnected)
			p.see("the provider of the tool was lost")
			m.provide()
			m.clean(1, session)
		})
		t.Run("connection", func(t T) {
			t.Parallel()
			m := startMachines(t)
			session := m.session()
			p := m.both(session)
			p.enter(call)
			open(m, p)
			in := m.asked(session)
			before := len(m.relay.seen())
			m.relay.cut(asProvider)
			m.closedAs(in, protocol.ClosedProviderDisconnected)
			p.see("the provider of the tool was lost", "Project name: ask")
			m.clean(1, session)
			p.ready()
			p.press("\x1b")
			p.see("servers 1/1")
			waitFor(t, "the tools at the Host again", func() bool {
				return slices.ContainsFunc(m.relay.seen()[before:], func(f frame) bool {
					return f.role == asProvider && !f.up && strings.Contains(f.text, `"client.capability.replace"`) && strings.Contains(f.text, `"ok":true`)
				})
			})
			p.enter("/call demo/plain {}") // the connection is back, and nothing else was called
			p.see("hello")
			m.clean(2, session)
		})
	})
	for name, sig := range map[string]syscall.Signal{"host_kill": syscall.SIGKILL, "host_sigterm": syscall.SIGTERM} {
		t.Run(name, func(t T) {
			t.Parallel()
			m := startMachines(t)
			session := m.session()
			p := m.both(session)
			p.enter(call)
			open(m, p)
			in := m.asked(session)
			m.host.end(sig)
			if code := m.host.cmd.ProcessState.ExitCode(); sig == syscall.SIGTERM && code != 0 {
				t.Errorf("the Host ended with %d: %s", code, m.host.errs.String())
			}
			m.restart()
			m.closedAs(in, protocol.ClosedHostRestarted)
			p.see("the Host was restarted")
			m.clean(1, session)
		})
	}
}
