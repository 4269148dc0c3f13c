package config

// Verb is what is to be done with one server.
type Verb string

// Actions of Reconcile. Replace ends the running server, and with it its calls, and starts the
// wanted one under the same name.
const (
	Keep    Verb = "keep"
	Start   Verb = "start"
	Replace Verb = "replace"
	Stop    Verb = "stop"
)

// Action is one step, about the server Name; Server is the wanted entry, absent for Stop.
type Action struct {
	Verb   Verb
	Name   string
	Server Server
}

// Reconcile compares the wanted servers with the running ones. Stops come first, so that a server
// that only changed its name finds its port free; the rest follows in the order of want. A server
// whose entry did not change is kept, whatever else did.
func Reconcile(want, running []Server) []Action {
	wanted := make(map[string]bool, len(want))
	for _, w := range want {
		wanted[w.Name] = true
	}
	have := make(map[string]Server, len(running))
	var out []Action
	for _, r := range running {
		have[r.Name] = r
		if !wanted[r.Name] {
			out = append(out, Action{Verb: Stop, Name: r.Name})
		}
	}
	for _, w := range want {
		r, ok := have[w.Name]
		switch {
		case !ok:
			out = append(out, Action{Verb: Start, Name: w.Name, Server: w})
		case r.Equal(w):
			out = append(out, Action{Verb: Keep, Name: w.Name, Server: w})
		default:
			out = append(out, Action{Verb: Replace, Name: w.Name, Server: w})
		}
	}
	return out
}
