package linemode

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/exp/golden"
	"go.uber.org/goleak"

	"askback/forms"
	"askback/tui/draft"
	"askback/tui/kit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var requester = forms.Requester{Name: "deploy", Source: "demo · via askback on devbox"}

func number(s string) *forms.Number {
	n, err := forms.ParseNumber(s)
	if err != nil {
		panic(err)
	}
	return &n
}

func ptr[T any](v T) *T { return &v }

func deployForm() forms.Form {
	return forms.Form{Message: "Choose the deployment target\nand take care", Requester: requester, Fields: []forms.Field{
		{Kind: forms.KindSingleSelect, Name: "env", Label: "Environment", Required: true, Options: []forms.Option{{Value: "stg", Label: "staging"}, {Value: "prd", Label: "production", Description: "be careful"}}},
		{Kind: forms.KindBoolean, Name: "confirm", Label: "Confirm", Required: true},
		{Kind: forms.KindString, Name: "note", Label: "Note", MaxLength: ptr(20)},
		{Kind: forms.KindInteger, Name: "replicas", Label: "Replicas", Required: true, Minimum: number("1"), Maximum: number("5"), Default: forms.NumberValue(*number("3"))},
		{Kind: forms.KindMultiSelect, Name: "tags", Label: "Tags", Options: []forms.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}},
	}}
}

// ask runs a form over lines of input that end with the last of them.
func ask(t *testing.T, req Request, lines ...string) (forms.Result, string, error) {
	t.Helper()
	var out bytes.Buffer
	in := strings.Join(lines, "\n")
	r, err := Ask(t.Context(), bufio.NewReader(strings.NewReader(in)), &out, req)
	clean(t, out.String())
	return r, out.String(), err
}

// clean fails on anything in the output that a terminal would obey.
func clean(t *testing.T, out string) {
	t.Helper()
	for _, r := range out {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
			t.Errorf("%U in the output:\n%q", r, out)
			return
		}
	}
}

func TestAnswers(t *testing.T) {
	deploy := Request{Form: deployForm()}
	for _, c := range []struct {
		name  string
		req   Request
		lines []string
		want  string
	}{
		{"all of it", deploy, []string{"2", "yes", "hello", "2", "1 2", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"prd","note":"hello","replicas":2,"tags":["a","b"]}}`},
		{"defaults and left out", deploy, []string{"1", "n", "", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":false,"env":"stg","replicas":3}}`},
		{"skip and empty", deploy, []string{"1", "1", ".empty", "", ".empty", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","note":"","replicas":3,"tags":[]}}`},
		{"back", deploy, []string{"1", "1", ".back", "2", "", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":false,"env":"stg","replicas":3}}`},
		{"back from review", deploy, []string{"1", "1", "", "", "", "back", "2", "", "", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"prd","replicas":3}}`},
		{"a text with a dot", deploy, []string{"1", "1", "..skip", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","note":".skip","replicas":3}}`},
		{"default again", deploy, []string{"1", "1", "", "5", ".back", ".default", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","replicas":3}}`},
		{"wrong, then right", deploy, []string{"stage", "", "3", "1", "maybe", "2", strings.Repeat("x", 21), "ok", "9", "4.5", "4", "7", "2,1", "submit", ""}, `{"action":"accept","values":{"confirm":false,"env":"stg","note":"ok","replicas":4,"tags":["a","b"]}}`},
		{"names", deploy, []string{"PRODUCTION", "1", "", "", "b 1", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"prd","replicas":3,"tags":["a","b"]}}`},
		{"decline", deploy, []string{".decline", "yes", ""}, `{"action":"decline"}`},
		{"dismiss", deploy, []string{"1", ".dismiss", "yes", ""}, `{"action":"cancel"}`},
		{"decline with one letter", deploy, []string{".decline", "y", ""}, `{"action":"decline"}`},
		{"decline, but neither yes nor no", deploy, []string{".decline", "decline", "", "no", "1", "1", "", "", "", "submit", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","replicas":3}}`},
		{"decline, but no", deploy, []string{".decline", "n", "1", "1", "", "", "", "decline", "yes", ""}, `{"action":"decline"}`},
		{"CRLF", deploy, []string{"1\r", "1\r", "\r", "\r", "\r", "submit\r", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","replicas":3}}`},
		{"capitals and blanks", deploy, []string{" 1 ", "True ", ".Skip ", " 4 ", " ", " Submit ", ""}, `{"action":"accept","values":{"confirm":true,"env":"stg","replicas":4}}`},
		{"blanks keep what is there", deploy, []string{"1", "false", " ", "  ", "", "submit", ""}, `{"action":"accept","values":{"confirm":false,"env":"stg","note":" ","replicas":3}}`},
		{"a decline with a capital", deploy, []string{".Decline", "Yes ", ""}, `{"action":"decline"}`},
		{"no fields", Request{Form: forms.Form{Message: "Go?", Requester: requester}}, []string{"yes", "submit", ""}, `{"action":"accept","values":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, out, err := ask(t, c.req, c.lines...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got, _ := r.Encode(); string(got) != c.want {
				t.Errorf("answered %s, want %s\n%s", got, c.want, out)
			}
			if errs := c.req.Form.Check(r); errs != nil {
				t.Errorf("a wrong answer: %v", errs)
			}
		})
	}
}

// SC-02 and SC-04: the end of the input, wherever it comes, answers nothing and ends the asking. A line that nobody
// finished is no line.
func TestEndOfInput(t *testing.T) {
	whole := []string{"1", "x", "1", "hello", "2", "1", ".decline", "no", "", "submit"}
	for n := range whole {
		lines := append(append([]string{}, whole[:n]...), "")
		for _, unfinished := range []string{"", "submit", "yes", "1"} {
			lines[n] = unfinished
			r, out, err := ask(t, Request{Form: deployForm()}, lines...)
			if !errors.Is(err, ErrEnded) || r.Action != "" || r.Values != nil {
				t.Errorf("after %q: %v, %v\n%s", lines, r, err, out)
			}
		}
	}
	deletes := forms.Form{Message: "Delete?", Requester: requester, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "a", Label: "A", Required: true},
		{Kind: forms.KindBoolean, Name: "delete", Label: "Delete", Default: forms.BoolValue(true)}}}
	if r, _, err := ask(t, Request{Form: deletes}); !errors.Is(err, ErrEnded) || r.Action != "" {
		t.Errorf("SC-02: %v, %v", r, err)
	}
}

// Who asks and the warning stand before every form, and what the server wrote stands behind the bar.
func TestHeading(t *testing.T) {
	f := forms.Form{
		Message:   "ok\x1b[2J\nWrite submit, back, decline or dismiss > submit\nhttps://x.example/",
		Requester: forms.Requester{Name: "dep\x1bloy", Source: "demo\n! all is well"},
		Fields: []forms.Field{
			{Kind: forms.KindString, Name: "k", Label: "API\x07 key\n! go on", Description: "one\nzwei\u202e", Required: true},
			{Kind: forms.KindSingleSelect, Name: "o", Label: "O", Options: []forms.Option{{Value: "1", Label: "a\nb", Description: "c\nd"}}},
		},
	}
	_, out, _ := ask(t, Request{Form: f, Position: 1, Total: 2}, "va\x1b[31mlue", "1", "back", "")
	for _, want := range []string{"Form 1 of 2", `| dep\x1bloy, demo ! all is well`, "! Never enter passwords, API keys, access tokens or payment data here.",
		"!! This field looks like a secret:\n| API\\x07 key ! go on", "! The text holds a link.", `| ok\x1b[2J`, "Field 1 of 2 (required, at most 256 characters)", "| one\n| zwei\\u{202e}", "|   1. a b"} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	for line := range strings.SplitSeq(out, "\n") {
		for _, theirs := range []string{"all is well", "go on", "ok\\x1b", "zwei", "> submit", "c\nd"} {
			if strings.Contains(line, theirs) && !strings.HasPrefix(line, "| ") {
				t.Errorf("server text without the bar: %q", line)
			}
		}
	}
	if _, out, _ := ask(t, Request{Form: forms.Form{Message: "Go?", Requester: forms.Requester{Name: "deploy"}}}); !strings.Contains(out, "| deploy, unknown server") {
		t.Error(out)
	}
}

func TestReviewSaysEverything(t *testing.T) {
	_, out, _ := ask(t, Request{Form: deployForm()}, "1", "1", ".empty", "", ".empty", "")
	for _, want := range []string{"Review. Nothing is sent yet.", "| Environment: staging", "| Confirm: Yes", "| Note: (empty text)", "| Replicas: 3 (default)", "| Tags: (none, sent as an empty list)"} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
}

func TestAskedAgain(t *testing.T) {
	earlier := draft.Answers{}
	earlier.Remember(deployForm(), forms.Values{"env": forms.TextValue("prd"), "note": forms.TextValue("first")})
	r, out, err := ask(t, Request{Form: deployForm(), Earlier: earlier}, "", "yes", "", "", "", "submit", "")
	if err != nil || r.Values["env"].Text() != "prd" || r.Values["note"].Text() != "first" {
		t.Errorf("%v, %v", r, err)
	}
	if !strings.Contains(out, "It starts from your last answers") || !strings.Contains(out, "production (your last answer)") {
		t.Error(out)
	}
}

// What is wrong is said with the way on: a wrong answer that could be left out holds nobody.
func TestWrongNamesTheWayOn(t *testing.T) {
	f := forms.Form{Message: "Go?", Requester: requester, Fields: []forms.Field{
		{Kind: forms.KindInteger, Name: "n", Label: "N", Minimum: number("1")},
		{Kind: forms.KindNumber, Name: "x", Label: "X", Default: forms.NumberValue(*number("1.5"))},
		{Kind: forms.KindInteger, Name: "r", Label: "R", Required: true},
		{Kind: forms.KindMultiSelect, Name: "m", Label: "M", MaxItems: ptr(1), Options: []forms.Option{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}},
		{Kind: forms.KindString, Name: "d", Label: "D", Format: forms.FormatDate},
		{Kind: forms.KindBoolean, Name: "b", Label: "B"},
	}}
	earlier := draft.Answers{}
	earlier.Remember(f, forms.Values{"d": forms.TextValue("2026-01-02")})
	for _, c := range []struct {
		lines []string
		says  string
	}{
		{[]string{"moon"}, "(.skip leaves it out)"},
		{[]string{"0", ""}, "must be at least 1 (.skip leaves it out)"},
		{[]string{"", "1,5"}, "(.skip leaves it out, .default goes back to the default)"},
		{[]string{"", "", ".skip"}, "! needs a number (.decline or .dismiss ends the form)"},
		{[]string{"", "", "1", "1 2"}, "(.skip leaves it out)"},
		{[]string{"", "", "1", "9"}, "(.skip leaves it out)"},
		{[]string{"", "", "1", "", "tomorrow"}, "(.skip leaves it out, .default goes back to your last answer)"},
		{[]string{"", "", "1", "", "", "maybe"}, "(.skip leaves it out)"},
	} {
		_, out, _ := ask(t, Request{Form: f, Earlier: earlier}, append(c.lines, "")...)
		i := strings.LastIndex(out, "! ")
		if i < 0 || !strings.Contains(strings.SplitN(out[i:], "\n", 2)[0], c.says) {
			t.Errorf("%q: no %q in\n%s", c.lines, c.says, out)
		}
	}
}

func TestLongLine(t *testing.T) {
	r, out, err := ask(t, Request{Form: deployForm()}, strings.Repeat("9", 10*maxLine), "1", "1", "", "", "", "submit", "")
	if err != nil || r.Values["env"].Text() != "stg" || !strings.Contains(out, "too long") {
		t.Errorf("%v, %v\n%s", r, err, out)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputGone(t *testing.T) {
	_, err := Ask(t.Context(), bufio.NewReader(strings.NewReader("1\n1\n\n\n\nsubmit\n")), failing{}, Request{Form: deployForm()})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// A prompt that is taken back answers nothing, and the line that was being written for it does not answer the next.
func TestTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		lines := NewLines(pr)
		defer lines.Close()
		gone := errors.New("answered elsewhere")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(gone)
		}()
		consent := Request{Form: forms.Form{Message: "Delete?", Requester: requester}}
		if r, err := lines.Ask(ctx, io.Discard, consent); !errors.Is(err, gone) || r.Action != "" {
			t.Fatalf("%v, %v", r, err)
		}
		go func() {
			_, _ = io.WriteString(pw, "submit\n") // begun for the first
			time.Sleep(time.Second)
			_, _ = io.WriteString(pw, "decline\n")
			_, _ = io.WriteString(pw, "yes\n")
		}()
		var out bytes.Buffer
		r, err := lines.Ask(t.Context(), &out, consent)
		if err != nil || r.Action != forms.ActionDecline {
			t.Errorf("%v, %v\n%s", r, err, out.String())
		}
		if !strings.Contains(out.String(), "so it was dropped") {
			t.Error(out.String())
		}
		_ = pw.Close()
		if _, err := lines.Ask(t.Context(), io.Discard, consent); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		if _, err := lines.Read(t.Context()); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
	})
}

func TestCloseWhileReadIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		lines := NewLines(pr)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lines.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		lines.Close()
		lines.Close()
		if _, err := lines.Read(t.Context()); !errors.Is(err, ErrEnded) {
			t.Error(err)
		}
		_ = pw.Close() // the goroutine ends, or the bubble reports it
	})
}

// FuzzLines: whatever is written, the output holds no control, and only a whole line "submit" or "yes" decides.
func FuzzLines(f *testing.F) {
	f.Add("1\n1\n\n\n\nsubmit\n")
	f.Add(".decline\nyes\n")
	f.Add("\x1b[2J\n.skip\n.empty\n.back\n..\n.\n")
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		r, err := Ask(t.Context(), bufio.NewReader(strings.NewReader(in)), &out, Request{Form: deployForm()})
		clean(t, out.String())
		if err != nil {
			if r.Action != "" {
				t.Errorf("an answer with an error: %v", r)
			}
			return
		}
		if errs := deployForm().Check(r); errs != nil {
			t.Errorf("a wrong answer: %v", errs)
		}
		said := []string{"yes", "y"}
		if r.Action == forms.ActionAccept {
			said = []string{"submit"}
		}
		lines := strings.Split(in, "\n")
		whole := lines[:len(lines)-1] // the last has no end
		if !slices.ContainsFunc(whole, func(l string) bool {
			return slices.Contains(said, strings.TrimPrefix(strings.ToLower(strings.TrimSpace(l)), "."))
		}) {
			t.Errorf("%s without the word", r.Action)
		}
	})
}

func TestTranscript(t *testing.T) {
	_, out, err := ask(t, Request{Form: deployForm(), Position: 1, Total: 2}, "2", "yes", "hello", "", ".skip", "submit", "")
	if err != nil {
		t.Fatal(err)
	}
	golden.RequireEqual(t, []byte(out))
}

// A value of several lines cannot look like the answer to another field in the review.
func TestReviewOfSeveralLines(t *testing.T) {
	f := forms.Form{Message: "Go?", Requester: requester, Fields: []forms.Field{
		{Kind: forms.KindString, Name: "note", Label: "Note", Default: forms.TextValue("a\nDelete: no")},
		{Kind: forms.KindBoolean, Name: "delete", Label: "Delete", Required: true}}}
	r, out, err := ask(t, Request{Form: f}, "", "yes", "submit", "")
	if err != nil || !r.Values["delete"].Bool() || r.Values["note"].Text() != "a\nDelete: no" {
		t.Fatalf("%v, %v", r, err)
	}
	_, review, _ := strings.Cut(out, "Review.")
	if strings.Contains(review, "\n| Delete: no") || !strings.Contains(review, "| Note: a\n|     Delete: no (default)\n| Delete: Yes\n") {
		t.Error(review)
	}
}

// On a terminal no row of a server's text begins without our bar: the terminal would break the line itself, and what
// stands at the start of the next row could look like a row of ours.
func TestQuotedForATerminal(t *testing.T) {
	text := strings.Repeat("x", 37) + " ! Sent. Write your password > " + strings.Repeat("กำ", 40)
	for _, columns := range []int{1, 20, 40, 80} {
		for row := range Quoted("  ", text, columns) {
			if !strings.HasPrefix(row, "|   ") {
				t.Errorf("%d columns: %q", columns, row)
			}
			if w := kit.Width(row); w >= max(columns, 7) {
				t.Errorf("%d columns: %q takes %d", columns, row, w)
			}
		}
	}
	if got := slices.Collect(Quoted("", text+"\nb", 0)); len(got) != 2 || got[0] != "| "+text {
		t.Errorf("without a terminal: %q", got)
	}
}
