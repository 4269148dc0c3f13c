package forms

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestVectors reads the form and result payloads of the wire vectors. A frame
// may be malformed for a reason outside its payload, which is then skipped.
func TestVectors(t *testing.T) {
	file, err := os.Open("../testdata/vectors/wire.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	outside := map[string]bool{
		"form request on 39": true, "extra key in frame": true, "wrong-case key": true, "interactionId with dot": true,
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	tested := 0
	for lines.Scan() {
		var v struct {
			Name, Expect string
			Epoch        int
			Frame        struct {
				Kind            string
				Request, Result json.RawMessage
			}
		}
		if json.Unmarshal(lines.Bytes(), &v) != nil || outside[v.Name] {
			continue
		}
		var got error
		switch {
		case strings.HasSuffix(v.Frame.Kind, ".interaction_request") && v.Frame.Request != nil:
			_, got = DecodeForm(v.Frame.Request, OurLimits())
		case strings.HasSuffix(v.Frame.Kind, ".interaction_result") && v.Frame.Result != nil:
			_, got = DecodeResult(v.Frame.Result, OurLimits())
		default:
			continue
		}
		tested++
		t.Run(v.Name, func(t *testing.T) {
			if (got == nil) != (v.Expect == "ok") {
				t.Errorf("error %v, want %s", got, v.Expect)
			}
		})
	}
	if err := lines.Err(); err != nil || tested < 20 {
		t.Errorf("%d vectors, %v", tested, err)
	}
}
