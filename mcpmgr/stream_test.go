package mcpmgr

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func allEvents(r io.Reader, limit int) (out []string, id string, err error) {
	s := newSSEReader(r, limit)
	for {
		data, err := s.next()
		if err != nil {
			return out, s.id, err
		}
		out = append(out, string(data))
	}
}

func TestSSE(t *testing.T) {
	for _, c := range []struct {
		in     string
		events []string
		id     string
		err    error
	}{
		{"data: a\n\n", []string{"a"}, "", io.EOF},
		{"data:a\r\n\r\ndata:  b\n\n", []string{"a", " b"}, "", io.EOF},
		{"data: a\ndata: b\n\n", []string{"a\nb"}, "", io.EOF},
		{"event: message\nid: 7\nretry: 20\ndata: a\n\n", []string{"a"}, "7", io.EOF},
		{": hi\n\n: ho\n\ndata: a\n\n", []string{"a"}, "", io.EOF},
		{"id: 1\ndata:\n\n", nil, "1", io.EOF},
		{"id: a\x00b\ndata: x\n\n", []string{"x"}, "", io.EOF},
		{"id: 1\ndata: a\n\nid: 2\ndata: b", []string{"a"}, "1", io.ErrUnexpectedEOF}, // resumed after 2, b would be lost
		{"id: 1\ndata: a\n\nid: 2\n", []string{"a"}, "1", io.EOF},
		{"id: 1\n\nid\n\n", nil, "", io.EOF},
		{"data: a", nil, "", io.ErrUnexpectedEOF},
		{"data: a\n", nil, "", io.ErrUnexpectedEOF},
		{"", nil, "", io.EOF},
		{"nonsense\nmore: of it\n\n", nil, "", io.EOF},
		{"data\ndata: x\n\n", []string{"x"}, "", io.EOF},
		{"event: message\rdata: a\r\rdata: b\r\n\rdata: c\n\r\n", []string{"a", "b", "c"}, "", io.EOF},
		{"\xef\xbb\xbfdata: a\n\n", []string{"a"}, "", io.EOF},
		{"event: ping\nid: 3\ndata: {}\n\nevent:\ndata: a\n\nevent: message\ndata: b\n\n", []string{"a", "b"}, "3", io.EOF},
	} {
		got, id, err := allEvents(strings.NewReader(c.in), 1000)
		if !slices.Equal(got, c.events) || id != c.id || !errors.Is(err, c.err) {
			t.Errorf("%q: %q %q %v", c.in, got, id, err)
		}
	}
	s := newSSEReader(strings.NewReader("retry: 250\nretry: x\ndata: a\n\n"), 1000)
	if _, err := s.next(); err != nil || s.retry != 250*time.Millisecond {
		t.Fatal(s.retry, err)
	}
	if _, _, err := allEvents(strings.NewReader("data: "+strings.Repeat("x", 2000)), 1000); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Fatal(err)
	}
	slow, w := io.Pipe() // a carriage return ends a line, whether something follows it or not
	defer w.Close()
	go func() { _, _ = io.WriteString(w, "data: a\r\r") }() // read whole, or let go by Close
	if data, err := newSSEReader(slow, 1000).next(); err != nil || string(data) != "a" {
		t.Fatal(data, err)
	}
	keepAlive := strings.Repeat(": hi\n\n", 100_000) // no event, whatever there is of it
	if got, _, err := allEvents(strings.NewReader(keepAlive+"data: a\n\n"), 1000); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Fatal(got, err)
	}
}

// TestLines: which lines get through, and which name a request that they fail.
func TestLines(t *testing.T) {
	reply := `{"jsonrpc":"2.0","id":7,"result":{}}`
	for _, c := range []struct {
		name, in, out string
		bad           []int64
	}{
		{"byte order marks", string(bom) + reply + "\n" + string(bom) + reply + "\r\n", reply + "\n" + reply + "\n", nil},
		{"a last line that is not ended", reply, reply + "\n", nil},
		{"a last line that is not whole", reply[:20], "", nil},
		{"NaN", `{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}` + "\n", "", []int64{7}},
		{"a raw control character", `{"jsonrpc":"2.0","result":{"x":"a` + "\x01" + `"},"id":"7"}` + "\n", "", []int64{7}},
		{"a result given twice", `{"jsonrpc":"2.0","id":7.0,"result":{},"result":{}}` + "\n", "", []int64{7}},
		{"an id given twice", `{"jsonrpc":"2.0","id":7,"id":8,"result":{}}` + "\n", "", nil},
		{"a broken notification", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"x":NaN}}` + "\n", "", nil},
		{"a request with a half id", `{"jsonrpc":"2.0","id":7.5,"method":"ping"}` + "\n", "", nil},
		{"a request with an id that floats do not hold", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}` + "\n", "", nil},
		{"a request with an id that is no text", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}` + "\n", "", nil},
		{"requests with ids that are kept", `{"jsonrpc":"2.0","id":"9007199254740993","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":-7,"method":"ping"}` + "\n",
			`{"jsonrpc":"2.0","id":"9007199254740993","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":-7,"method":"ping"}` + "\n", nil},
		{"a reply under half an id", `{"jsonrpc":"2.0","id":7.5,"result":{}}` + "\n", "", nil},
		{"an error beside a null", `{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":-1.0,"message":null,"data":{"a":1}}}` + "\n",
			`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"","data":{"a":1}}}` + "\n", nil},
		{"an error that cannot be read", `{"jsonrpc":"2.0","id":7,"error":"x"}` + "\n", "", []int64{7}},
		{"a batch with bad elements", "[7,{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":7}," + reply + "]\n", reply + "\n", []int64{7}},
		{"a batch that repeats an id", `[` + reply + `,{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":5.0,"method":"ping"},{"jsonrpc":"2.0","id":"5","method":"ping"}]` + "\n",
			`[` + reply + `,{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":"5","method":"ping"}]` + "\n", nil},
		{"a log line with an id", `{"level":"info","id":7}` + "\n" + `{"level":"info","id":7,"x":NaN}` + "\n", "", nil},
	} {
		var bad []int64
		out, err := io.ReadAll(newLineFilter(strings.NewReader(c.in), 1<<12, func([]byte, error) {}, func(id int64, _ error) { bad = append(bad, id) }))
		if err != nil || string(out) != c.out || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: %q %v %v", c.name, out, bad, err)
		}
	}
}

func TestIDNumber(t *testing.T) {
	for in, want := range map[string]int64{`7`: 7, `7.0`: 7, `7e0`: 7, `"7"`: 7, `9007199254740993`: 9007199254740993,
		``: -1, `"07"`: -1, `7.5`: -1, `"7.0"`: -1, `"x"`: -1, `NaN`: -1, `1e999`: -1, `"+7"`: -1} {
		if got, ok := idNumber([]byte(in)); ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %d %v", in, got, ok)
		}
	}
}

// FuzzSSE: how a stream is cut into pieces changes nothing, and no event is over the limit.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "data: a\r\ndata:b\r\n\r\n:c\nid: 1\n\n", "retry: 9\ndata\n\n\n", "\xef\xbb\xbfdata: a\r\revent: x\rdata: b\r\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		a, ida, erra := allEvents(bytes.NewReader(in), limit)
		b, idb, errb := allEvents(iotest.OneByteReader(bytes.NewReader(in)), limit)
		if !slices.Equal(a, b) || ida != idb || erra.Error() != errb.Error() {
			t.Fatalf("%q %q %v\n%q %q %v", a, ida, erra, b, idb, errb)
		}
		for _, e := range a {
			if len(e) > limit {
				t.Fatalf("an event of %d bytes", len(e))
			}
		}
	})
}

// FuzzLines: whatever a child prints, only whole messages that the codec accepts get through, and
// how the output is cut into pieces changes nothing.
func FuzzLines(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", "hello\n\n[]\n" + `[{"jsonrpc":"2.0","method":"x"}]` + "\r\n", `{"jsonrpc":"2.0","id":1,"error":7}` + "\n{", `[{"jsonrpc":"2.0","error":{"code":1,"message":""}}]` + "\n",
		string(bom) + `{"jsonrpc":"2.0","id":"1","result":NaN}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		read := func(r io.Reader) (string, []int64) {
			var bad []int64
			lf := newLineFilter(r, 1<<12, func([]byte, error) {}, func(id int64, _ error) { bad = append(bad, id) })
			out, _ := io.ReadAll(lf)
			return string(out), bad
		}
		a, bada := read(bytes.NewReader(in))
		b, badb := read(iotest.OneByteReader(bytes.NewReader(in)))
		if a != b || !slices.Equal(bada, badb) {
			t.Fatalf("%q %v\n%q %v", a, bada, b, badb)
		}
		for line := range strings.Lines(a) {
			text := strings.TrimSuffix(line, "\n")
			if text == line {
				t.Fatalf("half a line: %q", line)
			}
			msgs := [][]byte{[]byte(text)}
			if text[0] == '[' {
				els, err := elements([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				msgs = msgs[:0]
				for _, e := range els {
					msgs = append(msgs, e)
				}
			}
			for _, m := range msgs {
				if _, err := decodeSDK(m); err != nil {
					t.Fatalf("%q: %v", m, err)
				}
			}
		}
	})
}
