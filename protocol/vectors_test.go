package protocol

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// TestVectors holds both decoders to verdicts that were written from the
// contract, not from code.
func TestVectors(t *testing.T) {
	f, err := os.Open("../testdata/vectors/wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	count := 0
	for s.Scan() {
		var v struct {
			Name   string
			Dir    string
			Epoch  Dialect
			Expect string
			Raw    *string
			Frame  json.RawMessage
		}
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		count++
		t.Run(v.Name, func(t *testing.T) {
			msg := []byte(v.Frame)
			if v.Raw != nil {
				msg = []byte(*v.Raw)
			}
			frame, err := decodeDir(v.Dir, msg, v.Epoch)
			if got := err == nil; got != (v.Expect == "ok") {
				t.Fatalf("want %s, got %v", v.Expect, err)
			}
			if err != nil {
				return
			}
			out, err := Encode(frame, v.Epoch)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeDir(v.Dir, out, v.Epoch)
			if err != nil || !reflect.DeepEqual(frame, again) {
				t.Errorf("round trip: %v, %#v", err, again)
			}
		})
	}
	if count < 60 {
		t.Errorf("only %d vectors", count)
	}
}

func decodeDir(dir string, msg []byte, d Dialect) (Frame, error) {
	if dir == "c2h" {
		return DecodeClientFrame(msg, d)
	}
	return DecodeHostFrame(msg, d)
}
