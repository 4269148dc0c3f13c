package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

var frame = []byte(`{"requestId":"r-1","operation":"interaction.answer","input":{"sessionId":"s-1","interactionId":"i-1","answer":{"kind":"form","action":"accept","values":{"environment":"staging","confirm":true,"note":"` + strings.Repeat("x", 200) + `"}}}}`)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, err := Parse(frame, Limits{MaxBytes: 1 << 20}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAndRead(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		v, err := Parse(frame, Limits{MaxBytes: 1 << 20})
		if err != nil {
			b.Fatal(err)
		}
		f := Read(v)
		f.Text("requestId")
		f.Text("operation")
		in := Read(f.Need("input"))
		in.Text("sessionId")
		in.Text("interactionId")
		in.Need("answer")
		if in.Done() != nil || f.Done() != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkUnmarshalAny(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(frame, &v); err != nil {
			b.Fatal(err)
		}
	}
}
