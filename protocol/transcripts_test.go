package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const transcripts = "../testdata/transcripts"

// recorded is one line of a transcript.
type recorded struct {
	Conn  string          `json:"conn"`
	Dir   string          `json:"dir"`
	Event string          `json:"event"`
	Code  int             `json:"code"`
	Frame json.RawMessage `json:"frame"`

	line int
}

// skip is a recorded frame that the round trip leaves out.
type skip struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
	used bool
}

func readTranscripts(t testing.TB) map[string][]recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(transcripts, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	out := make(map[string][]recorded, len(files))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var lines []recorded
		s := bufio.NewScanner(bytes.NewReader(data))
		s.Buffer(nil, 4<<20)
		for n := 1; s.Scan(); n++ {
			var r recorded
			if err := json.Unmarshal(s.Bytes(), &r); err != nil {
				t.Fatalf("%s:%d: %v", name, n, err)
			}
			r.line = n
			lines = append(lines, r)
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = lines
	}
	return out
}

func readSkips(t testing.TB) map[string]map[int]*skip {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(transcripts, "skip.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []*skip
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[int]*skip{}
	for _, s := range list {
		if s.Why == "" {
			t.Errorf("%s:%d is skipped without a reason", s.File, s.Line)
		}
		if out[s.File] == nil {
			out[s.File] = map[int]*skip{}
		}
		out[s.File][s.Line] = s
	}
	return out
}

// TestTranscripts holds the codec to what a real Host of epoch 39 and its
// clients said: each frame decodes and encodes to the same JSON value.
func TestTranscripts(t *testing.T) {
	skips := readSkips(t)
	checked := 0
	for file, lines := range readTranscripts(t) {
		t.Run(file, func(t *testing.T) {
			dropped := map[string]bool{}
			for _, r := range lines {
				if r.Event == "close" && r.Code == 1006 {
					dropped[r.Conn] = true
				}
			}
			for _, r := range lines {
				if r.Frame == nil || (r.Dir == "c2h" && dropped[r.Conn]) {
					continue
				}
				if s := skips[file][r.line]; s != nil {
					s.used = true
					continue
				}
				checked++
				if err := roundTrip(r); err != nil {
					t.Errorf("%s:%d %s: %v", file, r.line, r.Dir, err)
				}
			}
		})
	}
	for _, file := range skips {
		for _, s := range file {
			if !s.used {
				t.Errorf("%s:%d is skipped but holds no frame to check", s.File, s.Line)
			}
		}
	}
	if checked < 4000 {
		t.Errorf("only %d frames were checked", checked)
	}
}

func roundTrip(r recorded) error {
	decode := func(b []byte) (Frame, error) { return DecodeHostFrame(b, Dialect39) }
	if r.Dir == "c2h" {
		decode = func(b []byte) (Frame, error) { return DecodeClientFrame(b, Dialect39) }
	}
	frame, err := decode(r.Frame)
	if err != nil {
		return err
	}
	out, err := Encode(frame, Dialect39)
	if err != nil {
		return err
	}
	if err := sameJSON(r.Frame, out); err != nil {
		return err
	}
	again, err := decode(out)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(frame, again) {
		return errDiffers{"the decoded frame", frame, again}
	}
	return nil
}

type errDiffers struct {
	what      string
	want, got any
}

func (e errDiffers) Error() string {
	want, _ := json.Marshal(e.want)
	got, _ := json.Marshal(e.got)
	return e.what + " differs:\n want " + string(want) + "\n  got " + string(got)
}

// sameJSON compares two texts as JSON values.
func sameJSON(want, got []byte) error {
	a, err := anyJSON(want)
	if err != nil {
		return err
	}
	b, err := anyJSON(got)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(a, b) {
		return errDiffers{"the JSON value", a, b}
	}
	return nil
}

func anyJSON(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
