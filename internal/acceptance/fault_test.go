package acceptance

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"

	"askback/host"
	"askback/mcpmgr"
	"askback/provider"
)

// fault is one way in which a part of the system is broken.
type fault struct {
	tamper  string                                  // between the manager and a server: a name of tampers
	tools   func(provider.Tools) provider.Tools     // between the provider and the manager
	frames  func() func(r *relay, f frame) []string // between the clients and the Host
	host    func(*host.Options)
	manager func(*mcpmgr.Options)
	tell    bool // servers say what a person typed
}

// tamperBy names, in the environment of a server, what happens to the messages before it.
const tamperBy = "ASKBACK_ACCEPTANCE_TAMPER"

// message is a tools/call that is being changed.
type message struct{ all, params map[string]json.RawMessage }

func (m *message) encode() []byte {
	m.all["params"], _ = json.Marshal(m.params)
	out, _ := json.Marshal(m.all)
	return out
}

// tampers change what a server is sent: each makes a function for one server, which sees its messages in order.
var tampers = map[string]func() func(m *message) (again bool){
	"twice": func() func(*message) bool { return func(*message) bool { return true } },
	"same_id": func() func(*message) bool {
		var first json.RawMessage
		return func(m *message) bool {
			if first == nil {
				first = m.all["id"]
			}
			m.all["id"] = first
			return false
		}
	},
	"arguments": each(func(m *message) {
		m.params["arguments"] = bytes.ReplaceAll(m.params["arguments"], []byte("9007199254740993"), []byte("9007199254740992"))
	}),
	"earlier_answers": func() func(*message) bool {
		all := map[string]json.RawMessage{}
		return func(m *message) bool {
			if json.Unmarshal(m.params["inputResponses"], &all) == nil {
				m.params["inputResponses"], _ = json.Marshal(all)
			}
			return false
		}
	},
	"other_answer": each(func(m *message) {
		m.set("inputResponses", strings.ReplaceAll(string(m.params["inputResponses"]), `"staging"`, `"production"`))
	}),
	"other_key": each(func(m *message) {
		m.set("inputResponses", strings.ReplaceAll(string(m.params["inputResponses"]), `"__proto__"`, `"proto"`))
	}),
	"state_parsed": each(func(m *message) {
		var s string
		if json.Unmarshal(m.params["requestState"], &s) == nil {
			m.params["requestState"], _ = json.Marshal(s)
		}
	}),
	"no_state": each(func(m *message) { delete(m.params, "requestState") }),
	"a_state": each(func(m *message) {
		if m.params["requestState"] == nil {
			m.params["requestState"] = json.RawMessage(`""`)
		}
	}),
	"capability": each(func(m *message) {
		m.params["_meta"] = json.RawMessage(`{"` + capabilitiesKey + `":{"elicitation":{"form":{}}}}`)
	}),
}

func each(change func(*message)) func() func(*message) bool {
	return func() func(*message) bool {
		return func(m *message) bool { change(m); return false }
	}
}

// set replaces a parameter that is there.
func (m *message) set(name, value string) {
	if m.params[name] != nil {
		m.params[name] = json.RawMessage(value)
	}
}

// tamper makes a function of that name over bytes. Messages other than tools/call pass as they are.
func tamper(name string) func([]byte) [][]byte {
	if name == "" {
		return nil
	}
	change := tampers[name]()
	return func(body []byte) [][]byte {
		var m message
		var method string
		if json.Unmarshal(body, &m.all) != nil || json.Unmarshal(m.all["method"], &method) != nil || method != "tools/call" || json.Unmarshal(m.all["params"], &m.params) != nil {
			return [][]byte{body}
		}
		again := change(&m)
		out := [][]byte{m.encode()}
		if again {
			out = append(out, out[0])
		}
		return out
	}
}

func tamperName(t T) string {
	if f := t.Fault(); f != nil {
		return f.tamper
	}
	return ""
}

func tamperOf(t T) func([]byte) [][]byte { return tamper(tamperName(t)) }

// tampering is a server's record in a process whose messages are tampered with.
func tampering(w io.Writer) io.Writer {
	if change := tamper(os.Getenv(tamperBy)); change != nil {
		return tamperedRecord{w, change}
	}
	return w
}

type tamperedRecord struct {
	w      io.Writer
	change func([]byte) [][]byte
}

// Write gets one line.
func (r tamperedRecord) Write(line []byte) (int, error) {
	for _, l := range r.change(bytes.TrimSuffix(line, []byte("\n"))) {
		if _, err := r.w.Write(append(l, '\n')); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}
