package hostclient

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"askback/protocol"
)

func TestParseEndpoint(t *testing.T) {
	t.Run("TR-12", testParseEndpoint)
}

func testParseEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"ws://127.0.0.1:7443":           "ws://127.0.0.1:7443/runtime-host",
		"ws://127.0.0.1:7443/":          "ws://127.0.0.1:7443/runtime-host",
		"wss://DevBox":                  "wss://devbox:443/runtime-host",
		"ws://localhost/x":              "ws://localhost:80/x",
		"wss://[::1]:1/runtime-host":    "wss://[::1]:1/runtime-host",
		"wss://h/a/b/":                  "wss://h:443/a/b/",
		"http://h":                      "bad",
		"h:7443":                        "bad",
		"":                              "bad",
		"wss://":                        "bad",
		"wss://user:SECRET@h":           "bad",
		"wss://h/runtime-host?t=SECRET": "bad",
		"wss://h/runtime-host?":         "bad",
		"wss://h/runtime-host#SECRET":   "bad",
		"ws://h:SECRET/":                "bad",
		"wss://h:0":                     "bad",
		"wss://h:65536":                 "bad",
		"wss://h:65535":                 "wss://h:65535/runtime-host",
		"wss://[fe80::1%25eth0]":        "bad",
		"ws://[::1%25lo]:7443":          "bad",
		"wss://h\x7f/?SECRET":           "bad",
	} {
		e, bad := parseEndpoint(in)
		switch {
		case bad == nil && e.url != want:
			t.Errorf("%q is %q, want %q", in, e.url, want)
		case bad != nil && want != "bad":
			t.Errorf("%q: %v", in, bad)
		case bad != nil && (bad.Code != CodeBadEndpoint || strings.Contains(bad.Message, "SECRET")):
			t.Errorf("%q: %s %q", in, bad.Code, bad.Message)
		}
	}
}

func TestPlainWSIsForThisMachine(t *testing.T) {
	for url, want := range map[string]Code{
		"ws://127.0.0.1": "", "ws://[::1]:9": "", "ws://localhost": "", "ws://127.8.9.1": "", "ws://[::ffff:127.0.0.1]": "",
		"ws://10.0.0.1": CodeInsecure, "ws://devbox": CodeInsecure, "ws://localhost.example": CodeInsecure, "ws://0.0.0.0": CodeInsecure,
		"wss://devbox": "",
	} {
		_, bad := newDialer(Options{URL: url})
		if got := codeOf(bad); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
		if _, bad := newDialer(Options{URL: url, Insecure: true}); bad != nil {
			t.Errorf("%s, insecure allowed: %v", url, bad)
		}
	}
}

func codeOf(e *Error) Code {
	if e == nil {
		return ""
	}
	return e.Code
}

func TestToken(t *testing.T) {
	for _, bad := range []string{"", "SECRET token", "SECRET\r\nX: y", "SECRETé", "SECRET\x00"} {
		if e := checkToken(bad); e == nil || e.Code != CodeBadToken || strings.Contains(e.Message, "SECRET") {
			t.Errorf("%q: %v", bad, e)
		}
	}
	if e := checkToken("maka_rh_abc-_~+/="); e != nil {
		t.Error(e)
	}
}

func TestBackoff(t *testing.T) {
	for n, most := range map[int]time.Duration{0: 500 * time.Millisecond, 1: time.Second, 3: 4 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 1000: 30 * time.Second} {
		if low, high := backoff(n, 0), backoff(n, 0.999999); low != most/2 || high >= most || high < most*9/10 {
			t.Errorf("attempt %d: %v to %v, want half of %v to all of it", n, low, high, most)
		}
	}
}

// TestPacer: whatever is sent when, no span of 20 ms has more than 32 small frames, and large ones never wait.
func TestPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pacer
		now := time.Unix(1000, 0)
		var sent []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "frames") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "µs")) * time.Microsecond)
			size := rapid.SampledFrom([]int{1, 100, pacedBelow - 1, pacedBelow, 50_000}).Draw(t, "size")
			wait := p.reserve(size, now)
			if size >= pacedBelow {
				if wait != 0 {
					t.Fatal("a large frame waits")
				}
				continue
			}
			now = now.Add(wait)
			sent = append(sent, now)
			if n := len(sent); n > paceFrames && now.Sub(sent[n-1-paceFrames]) < paceWindow {
				t.Fatalf("%d frames in %v", paceFrames+1, now.Sub(sent[n-1-paceFrames]))
			}
		}
	})
}

func TestProgress(t *testing.T) {
	type report struct{ current, total float64 }
	for name, c := range map[string]struct {
		reports []report
		want    string
	}{
		"as it is":            {[]report{{0, 3}, {1, 3}, {3, 3}}, "0/3 1/3 3/3"},
		"never backwards":     {[]report{{2, 3}, {1, 3}, {3, 3}}, "2/3 3/3"},
		"no total":            {[]report{{5, 0}, {6, -1}}, ""},
		"fractions":           {[]report{{0.25, 1}, {0.5, 1}, {1, 1}}, "25/100 50/100 100/100"},
		"large":               {[]report{{1, 1e9}, {5e8, 1e9}}, "0/100 50/100"},
		"total changes":       {[]report{{1, 4}, {4, 8}, {8, 8}}, "1/4 2/4 4/4"},
		"over the total":      {[]report{{9, 4}}, "4/4"},
		"below zero":          {[]report{{-9, 4}}, "0/4"},
		"not numbers":         {[]report{{nan, 4}, {1, nan}, {1, inf}, {1, 4}}, "1/4"},
		"repeats say nothing": {[]report{{1, 4}, {1, 4}, {1.5, 4}}, "1/4"},
		"the largest total":   {[]report{{1024, 1024}}, "1024/1024"},
		"one over":            {[]report{{1025, 1025}}, "100/100"},
	} {
		m := machine{phase: admitted}
		var got []string
		for _, r := range c.reports {
			m.advance(r.current, r.total)
			if f, _ := m.step().(*protocol.CapabilityProgress); f != nil {
				got = append(got, ratio(f))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

func TestFitMessage(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for in, want := range map[string]string{
		"":                        "failed without a message",
		"a\xffb":                  "a\uFFFDb",
		long:                      long[:4095] + "…",
		long[:4096]:               long[:4096],
		strings.Repeat("😀", 2049): strings.Repeat("😀", 2047) + "…",
	} {
		got := fitMessage(in)
		if got != want {
			t.Errorf("%.20q… (%d): got %d bytes, want %d", in, len(in), len(got), len(want))
		}
		if _, err := protocol.Encode(&protocol.CapabilityFailed{InvocationID: "i", Message: got}, protocol.Dialect39); err != nil {
			t.Errorf("%.20q…: %v", in, err)
		}
	}
}

// TestReleaseRacesItsPublisher: a release of the present registration tells that it was superseded, whether the goroutine
// that published it is on its way out, has not had its reply yet, or is gone; while a change of ours is under way it is
// that change's own.
func TestReleaseRacesItsPublisher(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(p *Provider)
		want bool
	}{
		"gone": {func(p *Provider) {
			p.told(1, "reg-1", nil, nil)
			p.running = false
			p.released("reg-1")
		}, true},
		"on its way out": {func(p *Provider) {
			p.told(1, "reg-1", nil, nil)
			p.released("reg-1")
		}, true},
		"before it has the reply": {func(p *Provider) {
			p.released("reg-1")
			p.told(1, "reg-1", nil, nil)
		}, true},
		"a change is under way": {func(p *Provider) {
			p.told(1, "reg-1", nil, nil)
			p.version = 2
			p.registrations["reg-2"] = nil
			p.released("reg-1")
			p.told(2, "reg-2", nil, nil)
		}, false},
		"taken back": {func(p *Provider) {
			p.told(1, "reg-1", nil, nil)
			p.version = 2
			p.told(2, "", nil, nil)
			p.released("reg-1")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Provider{events: newQueue()}
			p.linkUp()
			p.version, p.running, p.registrations["reg-1"] = 1, true, nil
			c.do(p)
			got := false
			for {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				e, err := p.events.next(ctx, func([]string) {})
				if err != nil {
					break
				}
				if f, ok := e.(PublishFailed); ok {
					got = got || CodeOf(f.Err) == CodeSuperseded
				}
			}
			if got != c.want {
				t.Errorf("told as superseded: %v", got)
			}
			if got && p.current != "" {
				t.Errorf("still holds %s", p.current)
			}
		})
	}
}
