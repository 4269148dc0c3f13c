package tui

import (
	"testing"

	"askback/tui/hostview"
)

// A session whose last row is larger than the end of the transcript that comes with it is not empty: what is older
// is asked for until something can be seen, or nothing is left.
func TestHistoryBehindALargeRow(t *testing.T) {
	d := connected(t, 80, 24)
	d.m.log = newTranscript()
	d.m.layout()
	d.tell(hostview.Rows{SessionID: "s1", Reset: true})
	if n := d.host.count("older s1"); n != 1 {
		t.Fatalf("asked %d times for what is older", n)
	}
	d.tell(hostview.Rows{SessionID: "s1", Older: true})
	if n := d.host.count("older s1"); n != 2 {
		t.Fatalf("asked %d times after a page without a row", n)
	}
	row := hostview.Row{Key: "1", Kind: hostview.RowAssistant, Text: "a long story", Time: at("10:00:00")}
	d.tell(hostview.Rows{SessionID: "s1", Rows: []hostview.Row{row}, Older: true}).want("a long story")
	d.tell(hostview.Rows{SessionID: "s1", Reset: true, Start: true})
	if n := d.host.count("older s1"); n != 2 {
		t.Fatalf("asked %d times though something is seen, or nothing is left", n)
	}
}
