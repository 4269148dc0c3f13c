package inspect

import (
	"fmt"
	"testing"

	"askback/mcpmgr"
)

// full is a Log with as many messages as it keeps.
func full(b *testing.B) *Log {
	b.Helper()
	l := NewLog()
	for i := range MaxMessages / 2 {
		id, call := fmt.Sprint(i), uint64(i+1)
		l.Add(tapped(mcpmgr.Sent, id, "tools/call", false, call, 1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"text":"hello"}}}`))
		l.Add(tapped(mcpmgr.Received, id, "tools/call", true, call, 1, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`))
	}
	return l
}

// What a message costs when it passes.
func BenchmarkLogAdd(b *testing.B) {
	l := full(b)
	e := tapped(mcpmgr.Received, "x", "tools/call", true, 1, 1, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		l.Add(e)
	}
}

// What a key in the filter costs when the Log is full.
func BenchmarkFilterAll(b *testing.B) {
	l := full(b)
	for b.Loop() {
		f := ParseFilter("method:tools received hello")
		n := 0
		for _, m := range l.Messages {
			if f.Fits(m) {
				n++
			}
		}
		if n == 0 {
			b.Fatal("nothing fits")
		}
	}
}
