package hostclient

import (
	"strings"
	"unicode/utf8"

	"askback/forms"
	"askback/protocol"
)

// phase is where the provider's half of an invocation is. Its transitions, with what causes them:
//
//	offered  → accepted   accepted goes out
//	offered  → settled    rejected goes out
//	accepted → admitted   admitted comes in: the tool may run
//	admitted → awaiting   interaction_request goes out
//	awaiting → admitted   interaction_result comes in
//	admitted → chunking   result_start is about to go out
//	chunking → settled    the last chunk goes out
//	accepted, admitted, awaiting → settled   failed goes out (while awaiting the Host closes the form)
//	admitted → settled    result goes out
//	any      → retired    cancel or release comes in, or the connection ends: nothing goes out any more
type phase int

const (
	offered phase = iota
	accepted
	admitted
	awaiting
	chunking
	settled
	retired
)

// machine is the provider's half of one invocation: it says what may go out and what may come in. It holds no locks and
// sends nothing; a method that returns a frame has made the transition that goes with it.
type machine struct {
	id    string
	forms bool // the connection's dialect has forms
	phase phase

	wasAccepted bool
	asks        int
	pending     string // the interactionId of the form that is, or was when we failed, pending
	steps       progress
	result      []byte // being sent in chunks
	sent        int    // chunks; -1 before result_start

	inChunks bool // it is settled, or being settled, by a result in chunks
}

func (m *machine) accept() protocol.ClientFrame {
	m.phase, m.wasAccepted = accepted, true
	return &protocol.CapabilityAccepted{InvocationID: m.id}
}

func (m *machine) reject(message string) protocol.ClientFrame {
	m.phase = settled
	return &protocol.CapabilityRejected{InvocationID: m.id, Message: fitMessage(message)}
}

// admit takes the Host's admitted in; run is whether the tool starts.
func (m *machine) admit() (run bool, bad *Error) {
	switch {
	case m.phase == accepted:
		m.phase = admitted
		return true, nil
	case (m.phase == settled || m.phase == retired) && m.wasAccepted:
		return false, nil // it crossed our failed, or the Host's own cancel
	}
	return false, violation("the Host admitted a call that was not waiting for it")
}

// retire ends the machine: whatever comes after is ignored, and nothing goes out.
func (m *machine) retire() {
	m.phase, m.result = retired, nil
}

// mayRun is nil while the tool may say something about its call.
func (m *machine) mayRun() *Error {
	switch m.phase {
	case admitted, awaiting:
		return nil
	case chunking, settled:
		return errorf(CodeRetired, "the call has been settled already")
	}
	return errorf(CodeRetired, "the call has ended")
}

// ask is the interaction_request for a form. The caller encodes it, which checks the form, before asked.
func (m *machine) ask(form forms.Form, id string) (protocol.ClientFrame, *Error) {
	if bad := m.mayRun(); bad != nil {
		return nil, bad
	}
	switch {
	case !m.forms:
		return nil, errorf(CodeNoForms, "this Host cannot show forms")
	case m.phase == awaiting:
		return nil, errorf(CodeAskPending, "a form of this call is still pending")
	case m.asks >= protocol.MaxAsksPerInvocation:
		return nil, errorf(CodeTooLarge, "a call may ask %d times", protocol.MaxAsksPerInvocation)
	}
	return &protocol.InteractionRequest{InvocationID: m.id, InteractionID: id, Form: form}, nil
}

func (m *machine) asked(id string) {
	m.phase, m.pending = awaiting, id
	m.asks++
}

// answer takes an interaction_result in; deliver is whether it answers the pending form.
func (m *machine) answer(id string) (deliver bool, bad *Error) {
	matches := m.pending != "" && m.pending == id
	switch {
	case m.phase == retired:
		return false, nil
	case m.phase == awaiting && matches:
		m.phase, m.pending = admitted, ""
		return true, nil
	case m.phase == settled && matches:
		m.pending = ""
		return false, nil // it crossed our failed
	}
	bad = violation("the Host answered a form that is not pending")
	bad.Code = CodeInteraction
	return false, bad
}

// advance takes the tool's progress in; the frame for it may be sent later or never, by step.
func (m *machine) advance(current, total float64) {
	if m.mayRun() == nil {
		m.steps.advance(current, total)
	}
}

// step is the frame for progress that has not gone out, or nil.
func (m *machine) step() protocol.ClientFrame {
	if m.mayRun() != nil || !m.steps.fresh() {
		return nil
	}
	m.steps.sent = m.steps.current
	m.steps.began = true
	return &protocol.CapabilityProgress{InvocationID: m.id, Current: m.steps.current, Total: m.steps.total}
}

// maySettle is nil when a result may go out. A pending form can only be left by failing.
func (m *machine) maySettle() *Error {
	if bad := m.mayRun(); bad != nil {
		return bad
	}
	if m.phase == awaiting {
		return errorf(CodeAskPending, "a form of this call is still pending; the call can only fail")
	}
	return nil
}

// finish settles the call with an inline result.
func (m *machine) finish() { m.phase = settled }

// finishInChunks starts sending a result's JSON in chunks, which chunk makes.
func (m *machine) finishInChunks(result []byte) {
	m.phase, m.result, m.sent, m.inChunks = chunking, result, -1, true
}

// chunk is the next frame of a chunked result, or nil when there is none or the call has ended.
func (m *machine) chunk() protocol.ClientFrame {
	if m.phase != chunking {
		return nil
	}
	count := (len(m.result) + protocol.ChunkBytes - 1) / protocol.ChunkBytes
	index := m.sent
	m.sent++
	if index < 0 {
		return &protocol.CapabilityResultStart{InvocationID: m.id, ByteLength: len(m.result), ChunkCount: count}
	}
	from := index * protocol.ChunkBytes
	data := m.result[from:min(from+protocol.ChunkBytes, len(m.result))]
	if m.sent == count {
		m.phase, m.result = settled, nil
	}
	return &protocol.CapabilityResultChunk{InvocationID: m.id, Index: index, Data: data}
}

// fail settles the call as failed.
func (m *machine) fail(message string) (protocol.ClientFrame, *Error) {
	if m.phase != accepted {
		if bad := m.mayRun(); bad != nil {
			return nil, bad
		}
	}
	m.phase = settled
	return &protocol.CapabilityFailed{InvocationID: m.id, Message: fitMessage(message)}, nil
}

// fitMessage makes a legal message of a text: never empty, valid, and cut where it is too long.
func fitMessage(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if text == "" {
		return "failed without a message"
	}
	units := 0
	for i, r := range text {
		units++
		if r > 0xffff {
			units++
		}
		if units > protocol.MaxCapabilityMessage {
			// Make room for the mark: the last rune before i, whose size is at least one unit.
			_, size := utf8.DecodeLastRuneInString(text[:i])
			return text[:i-size] + "…"
		}
	}
	return text
}
