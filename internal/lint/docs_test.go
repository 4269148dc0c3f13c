package lint

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedExamples reads the JSON blocks of the manual page: each says
// before it whether it is accepted.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/forms.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- lint: (ok|refused) -->\n```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d examples", len(blocks))
	}
	for _, b := range blocks {
		r, err := Read([]byte(b[2]))
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() != (b[1] == "ok") {
			t.Errorf("%s\n%s", b[2], r.Text())
		}
		for _, q := range r.Requests {
			for _, e := range q.Errors {
				if !strings.Contains(string(page), "    "+e.Error()+"\n") {
					t.Errorf("the page does not show: %s", e.Error())
				}
			}
			if len(q.Warnings) > 0 {
				t.Errorf("the example has warnings: %v", q.Warnings)
			}
		}
	}
}
