package protocol

import (
	"bytes"
	"reflect"
	"testing"
)

// seedFrames adds the recorded frames of one direction to a corpus, one of each
// length.
func seedFrames(f *testing.F, dir string) {
	lengths := map[int]bool{}
	for _, lines := range readTranscripts(f) {
		for _, r := range lines {
			if r.Dir == dir && r.Frame != nil && len(r.Frame) < 4096 && !lengths[len(r.Frame)/8] {
				lengths[len(r.Frame)/8] = true
				f.Add([]byte(r.Frame), true)
			}
		}
	}
	f.Add([]byte(projection(pendingForm)), true)
	f.Add([]byte(`{"kind":"client.capability.interaction_result","invocationId":"i","interactionId":"q","result":{"action":"accept","values":{"a":1}}}`), true)
}

// fuzz holds a decoder to its promise: what it reads can be written, and reads
// the same again.
func fuzz(t *testing.T, data []byte, forms bool, decode func([]byte, Dialect) (Frame, error)) {
	d := Dialect39
	if forms {
		d = Dialect81
	}
	frame, err := decode(data, d)
	if err != nil {
		return
	}
	if _, ok := frame.(*UnknownFrame); ok {
		return
	}
	if r, ok := frame.(*Response); ok && r.Error != nil && (!r.Error.Code.Known() || len(r.Error.Message) > MaxErrorMessage) {
		return // shown, but never sent by us
	}
	out, err := Encode(frame, d)
	if err != nil {
		if len(data) > MaxSubscriptionFrameBytes/2 {
			return // a foreign frame may be larger than ours
		}
		t.Fatalf("read but not written: %v\n%s", err, data)
	}
	again, err := decode(out, d)
	if err != nil {
		t.Fatalf("written but not read: %v\n%s\n%s", err, data, out)
	}
	if !reflect.DeepEqual(frame, again) {
		t.Fatalf("changed on the way:\n%s\n%s", data, out)
	}
	twice, err := Encode(again, d)
	if err != nil || !bytes.Equal(out, twice) {
		t.Fatalf("not stable: %v\n%s\n%s", err, out, twice)
	}
}

func FuzzClientFrame(f *testing.F) {
	seedFrames(f, "c2h")
	f.Fuzz(func(t *testing.T, data []byte, forms bool) {
		fuzz(t, data, forms, func(b []byte, d Dialect) (Frame, error) { return DecodeClientFrame(b, d) })
	})
}

func FuzzHostFrame(f *testing.F) {
	seedFrames(f, "h2c")
	f.Fuzz(func(t *testing.T, data []byte, forms bool) {
		fuzz(t, data, forms, func(b []byte, d Dialect) (Frame, error) { return DecodeHostFrame(b, d) })
	})
}
