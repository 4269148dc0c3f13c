package broker

import (
	"fmt"
	"testing"

	"askback/forms"
	"askback/protocol"
)

// crowd is a Broker with n providers of one server each.
func crowd(b *testing.B, n int) *Broker {
	br := New()
	for i := range n {
		id := fmt.Sprint("c", i)
		br.Connect(Conn{ID: id, Principal: "p", Instance: id, Credential: "c", Dialect: protocol.Dialect81, Publish: true, Trusted: true})
		in := &protocol.CapabilityReplaceInput{RegistrationID: "r", Offers: []protocol.Offer{offerOf("o", fmt.Sprint("server", i), "echo")}}
		if _, _, err := br.Replace(id, in); err != nil {
			b.Fatal(err)
		}
	}
	return br
}

// BenchmarkForm is a Turn with one call that asks once, among 250 providers.
func BenchmarkForm(b *testing.B) {
	br := crowd(b, 250)
	n := 0
	for b.Loop() {
		n++
		t := Turn{"s", fmt.Sprint("t", n)}
		if err := br.BindTurn(t, "run", Initiator{"p", "c7"}); err != nil {
			b.Fatal(err)
		}
		inv := fmt.Sprint("i", n)
		br.StartCall(Call{InvocationID: inv, Turn: t, ToolCallID: "c", Server: "server7", Tool: "echo"})
		br.Frame("c7", accepted(inv))
		br.Admit(inv)
		br.Frame("c7", request(inv, "n"))
		br.Stored(Ask{inv, 1})
		br.Reserve(Ask{inv, 1})
		br.Committed(Ask{inv, 1}, forms.Result{Action: forms.ActionCancel})
		br.Delivered(Ask{inv, 1})
		br.Frame("c7", result(inv, "x"))
		br.EndTurn(t)
	}
	if br.Active() != 0 {
		b.Fatal("calls are left")
	}
}

// BenchmarkReplace publishes again, and starts a Turn, which makes the catalog again.
func BenchmarkReplace(b *testing.B) {
	br := crowd(b, 250)
	n := 0
	for b.Loop() {
		n++
		in := &protocol.CapabilityReplaceInput{RegistrationID: fmt.Sprint("r", n), Offers: []protocol.Offer{offerOf("o", "server7", "echo", "more", "tools")}}
		if _, _, err := br.Replace("c7", in); err != nil {
			b.Fatal(err)
		}
		t := Turn{"s", fmt.Sprint("t", n)}
		if err := br.BindTurn(t, "run", Initiator{"p", "c7"}); err != nil {
			b.Fatal(err)
		}
		br.EndTurn(t)
	}
}
