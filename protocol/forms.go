package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"askback/forms"
	"askback/internal/strictjson"
)

// FormRequest is a form that waits for a person, as the Host stored it: after
// the display projection, with a requester that the Host made.
type FormRequest struct {
	ToolUseID string
	Form      forms.Form
}

// FormAnswer is a person's answer to a form. Wrong, when it is not empty, names a field and says why its value is none that
// any form takes: Result holds something else in its place, and the answer can be corrected.
type FormAnswer struct {
	Result forms.Result
	Wrong  string
}

// FormOutcome is the answer that was committed, at CommittedAt (Unix ms). An
// accepted one without Values is one whose values the Host no longer keeps.
type FormOutcome struct {
	Result      forms.Result
	CommittedAt int64
}

// InteractionRequest is the provider's form for the invocation that asks.
// InteractionID is the provider's own and means nothing outside it.
type InteractionRequest struct {
	InvocationID  string
	InteractionID string
	Form          forms.Form
}

// InteractionResult hands the committed answer to the provider that asked.
type InteractionResult struct {
	InvocationID  string
	InteractionID string
	Result        forms.Result
}

func (*FormRequest) Kind() string        { return KindForm }
func (*FormAnswer) Kind() string         { return KindForm }
func (*FormOutcome) Kind() string        { return KindFormAnswer }
func (*FormRequest) interactionBody()    {}
func (*FormAnswer) interactionAnswer()   {}
func (*FormOutcome) interactionOutcome() {}

func (*InteractionRequest) frame()       {}
func (*InteractionRequest) clientFrame() {}
func (*InteractionResult) frame()        {}
func (*InteractionResult) hostFrame()    {}

// without is the object v less some of its members, as JSON.
func without(v strictjson.Value, keys ...string) []byte {
	out := append(make([]byte, 0, len(v.Raw())), '{')
members:
	for name, member := range v.Members() {
		for _, k := range keys {
			if name == k {
				continue members
			}
		}
		out = strictjson.AppendKey(out, name)
		out = append(out, member.Raw()...)
	}
	return append(out, '}')
}

func (r *FormRequest) decodeWire(_ *decoder, v strictjson.Value) error {
	id, ok := v.Get("toolUseId")
	if !ok {
		return strictjson.Missing("toolUseId")
	}
	var err error
	if r.ToolUseID, err = textOf(id); err != nil {
		return strictjson.At("toolUseId", err)
	}
	r.Form, err = forms.DecodeForm(without(v, "kind", "toolUseId"), forms.OurLimits().Projected())
	return err
}

func (r *FormRequest) encodeWire(e *encoder) error {
	form, err := r.Form.Encode()
	if err != nil {
		return err
	}
	e.buf = append(e.buf, `{"kind":"form","toolUseId":`...)
	e.buf = strictjson.AppendString(e.buf, r.ToolUseID)
	e.merge(form)
	return nil
}

// merge closes an open object with the members of another one.
func (e *encoder) merge(object []byte) {
	if len(object) > 2 {
		e.buf = append(e.buf, ',')
	}
	e.buf = append(e.buf, object[1:]...)
}

func (a *FormAnswer) decodeWire(_ *decoder, v strictjson.Value) (err error) {
	raw := without(v, "kind")
	a.Result, err = forms.DecodeResult(raw, forms.OurLimits())
	if e, ok := errors.AsType[*strictjson.Error](err); ok && e.Problem == strictjson.LoneSurrogate {
		return a.decodeHalves(v, raw)
	}
	return err
}

// decodeHalves reads an answer with half of a surrogate pair in it, which a browser sends when a person's text was cut
// inside an emoji. That is a wrong value and not a malformed frame.
func (a *FormAnswer) decodeHalves(v strictjson.Value, raw []byte) (err error) {
	values, _ := v.Get("values")
	for name, value := range values.Members() {
		if _, halves := mend(value.Raw()); halves {
			a.Wrong = strconv.Quote(name) + ": holds half of a surrogate pair"
			break
		}
	}
	if a.Wrong == "" {
		a.Wrong = "a field's name holds half of a surrogate pair"
	}
	whole, _ := mend(raw)
	a.Result, err = forms.DecodeResult(whole, forms.OurLimits())
	return err
}

// mend replaces each half of a surrogate pair in JSON by U+FFFD, and reports whether there was one.
func mend(raw []byte) (whole []byte, halves bool) {
	whole = bytes.Clone(raw)
	for i := 0; i+1 < len(whole); i++ {
		if whole[i] != '\\' {
			continue
		}
		r := codeUnit(whole[i:])
		switch {
		case !utf16.IsSurrogate(r):
			i++
		case utf16.DecodeRune(r, codeUnit(whole[i+6:])) != utf8.RuneError:
			i += 11
		default:
			copy(whole[i:], `\ufffd`)
			halves = true
			i += 5
		}
	}
	return whole, halves
}

// codeUnit is the code unit of an escape \uXXXX at the beginning of raw, 0 for anything else.
func codeUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n)
}

func (a *FormAnswer) encodeWire(e *encoder) error {
	if a.Wrong != "" {
		return strictjson.Bad("cannot be sent: %s", a.Wrong)
	}
	result, err := a.Result.Encode()
	if err != nil {
		return err
	}
	e.buf = append(e.buf, `{"kind":"form"`...)
	e.merge(result)
	return nil
}

func (o *FormOutcome) decodeWire(_ *decoder, v strictjson.Value) error {
	at, ok := v.Get("committedAt")
	if !ok {
		return strictjson.Missing("committedAt")
	}
	var err error
	if o.CommittedAt, err = wholeNumber(at); err != nil || o.CommittedAt < 0 {
		return strictjson.At("committedAt", strictjson.Bad("must be a time in milliseconds"))
	}
	if action, ok := v.Get("action"); ok && v.Len() == 3 && string(action.Raw()) == `"accept"` {
		o.Result = forms.Result{Action: forms.ActionAccept}
		return nil
	}
	o.Result, err = forms.DecodeResult(without(v, "kind", "committedAt"), forms.OurLimits())
	return err
}

func (o *FormOutcome) encodeWire(e *encoder) error {
	e.buf = append(e.buf, `{"kind":"form_answer"`...)
	if o.Forgotten() {
		e.buf = append(e.buf, `,"action":"accept"`...)
	} else {
		result, err := o.Result.Encode()
		if err != nil {
			return err
		}
		e.merge(result[:len(result)-1])
	}
	e.buf = append(e.buf, `,"committedAt":`...)
	e.buf = strconv.AppendInt(e.buf, o.CommittedAt, 10)
	e.buf = append(e.buf, '}')
	return nil
}

// Forgotten reports whether the values of an accepted form were dropped.
func (o *FormOutcome) Forgotten() bool {
	return o.Result.Action == forms.ActionAccept && o.Result.Values == nil
}

// answerFits holds an outcome to the request that it answers.
func (in *Interaction) answerFits() error {
	req, isForm := in.Request.(*FormRequest)
	out, isFormOutcome := in.Outcome.(*FormOutcome)
	if isForm != isFormOutcome {
		return strictjson.At("outcome", strictjson.Bad("is not the kind that the request asks for"))
	}
	if q, ok := in.Request.(*QuestionRequest); ok {
		a, ok := in.Outcome.(*QuestionOutcome)
		if !ok || len(a.Answers) != len(q.Questions) {
			return strictjson.At("outcome", strictjson.Bad("does not fit the questions"))
		}
	}
	if isForm && !out.Forgotten() {
		if errs := req.Form.Check(out.Result); len(errs) > 0 {
			return strictjson.At("outcome", strictjson.Bad("does not fit the form"))
		}
	}
	return nil
}

func (r *InteractionRequest) decodeWire(_ *decoder, v strictjson.Value) error {
	form, err := nestedParts(v, "request", &r.InvocationID, &r.InteractionID)
	if err != nil {
		return err
	}
	r.Form, err = forms.DecodeForm(form.Raw(), forms.OurLimits())
	return strictjson.At("request", err)
}

func (r *InteractionRequest) encodeWire(e *encoder) error {
	if err := r.Form.Admit(forms.OurLimits()); err != nil {
		return strictjson.At("request", err)
	}
	form, err := r.Form.Encode()
	if err != nil {
		return err
	}
	return e.nested("client.capability.interaction_request", r.InvocationID, r.InteractionID, "request", form)
}

func (r *InteractionResult) decodeWire(_ *decoder, v strictjson.Value) error {
	result, err := nestedParts(v, "result", &r.InvocationID, &r.InteractionID)
	if err != nil {
		return err
	}
	r.Result, err = forms.DecodeResult(result.Raw(), forms.OurLimits())
	return strictjson.At("result", err)
}

func (r *InteractionResult) encodeWire(e *encoder) error {
	result, err := r.Result.Encode()
	if err != nil {
		return err
	}
	return e.nested("client.capability.interaction_result", r.InvocationID, r.InteractionID, "result", result)
}

// nestedParts reads what both nested interaction frames have.
func nestedParts(v strictjson.Value, key string, invocation, interaction *string) (strictjson.Value, error) {
	f := strictjson.Read(v)
	f.Skip("kind")
	*invocation, *interaction = f.Text("invocationId"), f.Text("interactionId")
	body := f.Need(key)
	if err := f.Done(); err != nil {
		return body, err
	}
	return body, checkNestedIDs(*invocation, *interaction)
}

func checkNestedIDs(invocation, interaction string) error {
	entity := rules{entity: true}
	if why := entity.checkString(invocation, false); why != "" {
		return strictjson.At("invocationId", strictjson.Bad("%s", why))
	}
	if why := entity.checkString(interaction, false); why != "" {
		return strictjson.At("interactionId", strictjson.Bad("%s", why))
	}
	return nil
}

func (e *encoder) nested(kind, invocation, interaction, key string, body json.RawMessage) error {
	if !e.dialect.Forms() {
		return strictjson.Bad("forms do not exist in %s", e.dialect)
	}
	if err := checkNestedIDs(invocation, interaction); err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for _, m := range [...][2]string{{"kind", kind}, {"invocationId", invocation}, {"interactionId", interaction}} {
		e.buf = strictjson.AppendKey(e.buf, m[0])
		e.buf = strictjson.AppendString(e.buf, m[1])
	}
	e.buf = strictjson.AppendKey(e.buf, key)
	e.buf = append(e.buf, body...)
	e.buf = append(e.buf, '}')
	return nil
}

// admissionEvidence is the only evidence of admission that exists so far.
const admissionEvidence = `{"kind":"none"}`

func (a *CapabilityAccepted) decodeWire(d *decoder, v strictjson.Value) error {
	f := strictjson.Read(v)
	f.Skip("kind")
	a.InvocationID = f.Text("invocationId")
	if d.dialect.Forms() {
		evidence := strictjson.Read(f.Need("admissionEvidence"))
		if evidence.Text("kind") != "none" {
			evidence.Fail("kind", strictjson.Bad("must be none"))
		}
		f.Fail("admissionEvidence", evidence.Done())
	}
	if err := f.Done(); err != nil {
		return err
	}
	if !ValidEntityID(a.InvocationID) {
		return strictjson.At("invocationId", strictjson.Bad("is not an entity id"))
	}
	return nil
}

func (a *CapabilityAccepted) encodeWire(e *encoder) error {
	if !ValidEntityID(a.InvocationID) {
		return strictjson.At("invocationId", strictjson.Bad("is not an entity id"))
	}
	e.buf = append(e.buf, `{"kind":"client.capability.accepted","invocationId":`...)
	e.buf = strictjson.AppendString(e.buf, a.InvocationID)
	if e.dialect.Forms() {
		e.buf = append(e.buf, `,"admissionEvidence":`+admissionEvidence...)
	}
	e.buf = append(e.buf, '}')
	return nil
}
