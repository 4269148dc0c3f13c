package protocol

import (
	"bytes"
	"reflect"
	"strings"

	"askback/internal/strictjson"
)

// DecodeClientFrame reads what a client sent on a connection of dialect d (0
// before the handshake). The error is a *DecodeError, and the connection over.
func DecodeClientFrame(data []byte, d Dialect) (ClientFrame, error) {
	v, err := parse(data, MaxFrameBytes)
	if err != nil {
		return nil, decodeError(err)
	}
	dec := &decoder{dialect: d}
	kind, hasOperation, err := sort(v)
	if err != nil {
		return nil, decodeError(err)
	}
	if hasOperation {
		req, err := dec.request(v)
		if err != nil {
			return nil, decodeError(err)
		}
		return req, nil
	}
	t, ok := clientKinds[kind]
	if !ok || (formKinds[kind] && !d.Forms()) {
		return nil, decodeError(strictjson.At("kind", strictjson.Bad("is no frame of a client")))
	}
	frame, err := dec.frame(v, t)
	if err != nil {
		return nil, decodeError(err)
	}
	return frame.(ClientFrame), nil
}

// DecodeHostFrame reads what a Host sent on a connection of dialect d (0
// before the handshake). The error is a *DecodeError. A kind that is not known
// and not a capability frame is an *UnknownFrame.
func DecodeHostFrame(data []byte, d Dialect) (HostFrame, error) {
	v, err := parse(data, MaxFrameBytes)
	if err != nil {
		return nil, decodeError(err)
	}
	dec := &decoder{dialect: d}
	kind, hasOperation, err := sort(v)
	if err != nil {
		return nil, decodeError(err)
	}
	if hasOperation {
		resp, err := dec.response(v)
		if err != nil {
			return nil, decodeError(err)
		}
		return resp, nil
	}
	t, ok := hostKinds[kind]
	switch {
	case (!ok && strings.HasPrefix(kind, capabilityPrefix)) || (formKinds[kind] && !d.Forms()):
		return nil, decodeError(strictjson.At("kind", strictjson.Bad("is no frame of a Host")))
	case !ok:
		frame, err := dec.unknownFrame(v, kind)
		if err != nil {
			return nil, decodeError(err)
		}
		return frame, nil
	}
	frame, err := dec.frame(v, t)
	if err != nil {
		return nil, decodeError(err)
	}
	return frame.(HostFrame), nil
}

// sort tells a frame that has a kind from a request or a response.
func sort(v strictjson.Value) (kind string, hasOperation bool, err error) {
	if err := v.Want(strictjson.Object); err != nil {
		return "", false, err
	}
	for name, member := range v.Members() {
		switch name {
		case "operation":
			return "", true, nil
		case "kind":
			kind, err := textOf(member)
			return kind, false, strictjson.At("kind", err)
		}
	}
	return "", false, strictjson.Missing("kind")
}

func (d *decoder) frame(v strictjson.Value, t reflect.Type) (Frame, error) {
	p := reflect.New(t)
	var err error
	if w, ok := p.Interface().(wireDecoder); ok {
		err = w.decodeWire(d, v)
	} else {
		err = d.object(v, p.Elem(), "kind")
	}
	if err != nil {
		return nil, err
	}
	return p.Interface().(Frame), nil
}

// unknownFrame keeps of a frame what tells where it belongs.
func (d *decoder) unknownFrame(v strictjson.Value, kind string) (*UnknownFrame, error) {
	out := &UnknownFrame{Kind: kind}
	if !strings.HasPrefix(kind, subscriptionPrefix) {
		return out, nil
	}
	d.lax = true
	if err := d.object(v, reflect.ValueOf(&out.SubscriptionHeader).Elem(), "kind"); err != nil {
		return nil, err
	}
	return out, nil
}

// Encode writes a frame for a connection of dialect d. It holds the frame to
// the same rules as the decoders do, so that nothing malformed can be sent; the
// error is an *EncodeError.
func Encode(f Frame, d Dialect) ([]byte, error) {
	e := &encoder{dialect: d, buf: make([]byte, 0, 256)}
	if err := e.frame(f); err != nil {
		return nil, encodeError(err)
	}
	if len(e.buf) > MaxFrameBytes {
		return nil, &EncodeError{Reason: "the frame is too large"}
	}
	if _, ok := f.(SubscriptionFrame); ok && len(e.buf) > MaxSubscriptionFrameBytes {
		return nil, &EncodeError{Reason: "the subscription frame is too large"}
	}
	return e.buf, nil
}

func (e *encoder) frame(f Frame) error {
	switch f := f.(type) {
	case *Request:
		return e.request(f)
	case *Response:
		return e.response(f)
	case wireEncoder:
		return f.encodeWire(e)
	}
	v := reflect.ValueOf(f).Elem()
	kind := kindOfFrame[v.Type()]
	if kind == "" {
		return strictjson.Bad("this frame cannot be sent")
	}
	return e.object(v, "kind", kind)
}

// plainRules are those of a requestId.
var plainRules = rules{plain: true}

func (d *decoder) request(v strictjson.Value) (*Request, error) {
	f := strictjson.Read(v)
	id, op, input := f.Text("requestId"), Operation(f.Text("operation")), f.Need("input")
	if err := f.Done(); err != nil {
		return nil, err
	}
	if why := plainRules.checkString(id, false); why != "" {
		return nil, strictjson.At("requestId", strictjson.Bad("%s", why))
	}
	if !op.Known() {
		return nil, strictjson.At("operation", strictjson.Bad("is not known"))
	}
	if err := input.Want(strictjson.Object); err != nil {
		return nil, strictjson.At("input", err)
	}
	req := &Request{RequestID: id, Operation: op}
	t := operations[op].input
	if t == nil {
		req.Input = &RawInput{Op: op, Raw: bytes.Clone(input.Raw())}
		return req, nil
	}
	if op == OpCapabilityReplace {
		if err := checkManifest(input.Raw()); err != nil {
			return nil, strictjson.At("input", err)
		}
	}
	p := reflect.New(t)
	if err := d.object(input, p.Elem(), ""); err != nil {
		return nil, strictjson.At("input", err)
	}
	req.Input = p.Interface().(Input)
	return req, nil
}

func (e *encoder) request(r *Request) error {
	if r.Input == nil {
		return strictjson.Missing("input")
	}
	op := r.Input.Operation()
	if r.Operation != "" && r.Operation != op {
		return strictjson.At("operation", strictjson.Bad("is not the input's"))
	}
	if !op.Known() {
		return strictjson.At("operation", strictjson.Bad("is not known"))
	}
	if why := plainRules.checkString(r.RequestID, false); why != "" {
		return strictjson.At("requestId", strictjson.Bad("%s", why))
	}
	e.envelope(r.RequestID, op)
	e.buf = append(e.buf, `,"input":`...)
	start := len(e.buf)
	if raw, ok := r.Input.(*RawInput); ok {
		if err := e.raw(&rules{object: true}, raw.Raw); err != nil {
			return strictjson.At("input", err)
		}
	} else if err := e.object(reflect.ValueOf(r.Input).Elem(), "", ""); err != nil {
		return strictjson.At("input", err)
	} else if op == OpCapabilityReplace {
		if err := checkManifest(e.buf[start:]); err != nil {
			return strictjson.At("input", err)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

func (e *encoder) envelope(id string, op Operation) {
	e.buf = append(e.buf, `{"requestId":`...)
	e.buf = strictjson.AppendString(e.buf, id)
	e.buf = append(e.buf, `,"operation":`...)
	e.buf = strictjson.AppendString(e.buf, string(op))
}

func (d *decoder) response(v strictjson.Value) (*Response, error) {
	f := strictjson.Read(v)
	r := &Response{RequestID: f.Text("requestId"), Operation: Operation(f.Text("operation")), OK: f.Bool("ok")}
	key := "error"
	if r.OK {
		key = "result"
	}
	body := f.Need(key)
	if err := f.Done(); err != nil {
		return nil, err
	}
	if why := plainRules.checkString(r.RequestID, false); why != "" {
		return nil, strictjson.At("requestId", strictjson.Bad("%s", why))
	}
	if !r.Operation.Known() {
		return nil, strictjson.At("operation", strictjson.Bad("is not known"))
	}
	if !r.OK {
		r.Error = &Error{}
		// Codes of a newer Host are shown, not refused.
		d.lax = true
		if err := d.object(body, reflect.ValueOf(r.Error).Elem(), ""); err != nil {
			return nil, strictjson.At(key, err)
		}
		return r, nil
	}
	t := operations[r.Operation].result
	if t == nil {
		r.Result = &RawResult{Raw: bytes.Clone(body.Raw())}
		return r, nil
	}
	p := reflect.New(t)
	if err := d.object(body, p.Elem(), ""); err != nil {
		return nil, strictjson.At(key, err)
	}
	r.Result = p.Interface().(Result)
	return r, nil
}

func (e *encoder) response(r *Response) error {
	if why := plainRules.checkString(r.RequestID, false); why != "" {
		return strictjson.At("requestId", strictjson.Bad("%s", why))
	}
	if !r.Operation.Known() {
		return strictjson.At("operation", strictjson.Bad("is not known"))
	}
	e.envelope(r.RequestID, r.Operation)
	if !r.OK {
		if r.Error == nil || r.Result != nil {
			return strictjson.Missing("error")
		}
		e.buf = append(e.buf, `,"ok":false,"error":`...)
		if err := e.object(reflect.ValueOf(r.Error).Elem(), "", ""); err != nil {
			return strictjson.At("error", err)
		}
		e.buf = append(e.buf, '}')
		return nil
	}
	if r.Result == nil || r.Error != nil {
		return strictjson.Missing("result")
	}
	e.buf = append(e.buf, `,"ok":true,"result":`...)
	if raw, ok := r.Result.(*RawResult); ok {
		if err := e.raw(&rules{}, raw.Raw); err != nil {
			return strictjson.At("result", err)
		}
	} else {
		v := reflect.ValueOf(r.Result).Elem()
		if want := operations[r.Operation].result; v.Type() != want {
			return strictjson.At("result", strictjson.Bad("is not the result of this operation"))
		}
		if err := e.object(v, "", ""); err != nil {
			return strictjson.At("result", err)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// into reads v into the struct that out points to.
func (d *decoder) into(v strictjson.Value, out any) error {
	return d.object(v, reflect.ValueOf(out).Elem(), "")
}

// from writes the struct that in points to.
func (e *encoder) from(in any) error {
	return e.object(reflect.ValueOf(in).Elem(), "", "")
}
