package hostclient

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"askback/protocol"
)

var nan, inf = math.NaN(), math.Inf(1)

func ratio(f *protocol.CapabilityProgress) string { return fmt.Sprintf("%d/%d", f.Current, f.Total) }

// cut is rows as pages of at most size bytes, the way a Host makes them: older pages go from the newest row's tail to
// the oldest row's front.
func cut(rows []string, older bool, size int) (pages [][]protocol.Fragment) {
	var page []protocol.Fragment
	room := size
	add := func(index, from, to int) {
		data := rows[index][from:to]
		page = append(page, protocol.Fragment{Kind: protocol.SourceDurable, Sequence: int64(index),
			ByteOffset: int64(from), TotalBytes: int64(len(rows[index])), Data: []byte(data)})
		if room -= len(data); room == 0 {
			pages, page, room = append(pages, page), nil, size
		}
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	if older {
		slices.Reverse(order)
	}
	for _, i := range order {
		for done := 0; done < len(rows[i]); {
			n := min(room, len(rows[i])-done)
			if older {
				add(i, len(rows[i])-done-n, len(rows[i])-done)
			} else {
				add(i, done, done+n)
			}
			done += n
		}
	}
	if page != nil {
		pages = append(pages, page)
	}
	return pages
}

func TestJoinerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []string
		for i := range rapid.IntRange(1, 8).Draw(t, "rows") {
			rows = append(rows, fmt.Sprintf(`{"type":"user","id":"m%d","text":%q}`, i, rapid.StringMatching(`[a-zé]{0,200}`).Draw(t, "text")))
		}
		older := rapid.Bool().Draw(t, "older")
		direction := protocol.DirectionNewer
		if older {
			direction = protocol.DirectionOlder
		}
		j := newJoiner(protocol.SourceDurable, direction)
		var got []string
		for _, page := range cut(rows, older, rapid.IntRange(1, 300).Draw(t, "page")) {
			whole, bad := j.add(page)
			if bad != nil {
				t.Fatal(bad)
			}
			for _, r := range whole {
				got = append(got, string(r.Raw))
			}
		}
		if older {
			slices.Reverse(got)
		}
		if !slices.Equal(got, rows) || j.partial() {
			t.Fatalf("got %q, want %q", got, rows)
		}
	})
}

func TestJoinerRefuses(t *testing.T) {
	const row = `{"type":"user","id":"m"}`
	whole := func(seq int64) protocol.Fragment {
		return protocol.Fragment{Kind: "durable", Sequence: seq, TotalBytes: int64(len(row)), Data: []byte(row)}
	}
	part := func(seq int64, from, to int) protocol.Fragment {
		f := whole(seq)
		f.ByteOffset, f.Data = int64(from), f.Data[from:to]
		return f
	}
	edit := func(f protocol.Fragment, change func(*protocol.Fragment)) protocol.Fragment {
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		older     bool
		fragments []protocol.Fragment
	}{
		"rows backwards":       {false, []protocol.Fragment{whole(2), whole(1)}},
		"rows forwards, older": {true, []protocol.Fragment{whole(1), whole(2)}},
		"a row twice":          {false, []protocol.Fragment{whole(1), whole(1)}},
		"middle first":         {false, []protocol.Fragment{part(1, 4, 9)}},
		"front first, older":   {true, []protocol.Fragment{part(1, 0, 9)}},
		"gap":                  {false, []protocol.Fragment{part(1, 0, 4), part(1, 5, 9)}},
		"gap, older":           {true, []protocol.Fragment{part(1, 20, 24), part(1, 5, 9)}},
		"overlap":              {false, []protocol.Fragment{part(1, 0, 4), part(1, 3, 9)}},
		"other row within":     {false, []protocol.Fragment{part(1, 0, 4), whole(2)}},
		"outside":              {false, []protocol.Fragment{edit(whole(1), func(f *protocol.Fragment) { f.TotalBytes = 3 })}},
		"offset overflows":     {true, []protocol.Fragment{edit(whole(1), func(f *protocol.Fragment) { f.ByteOffset = math.MaxInt64 })}},
		"huge":                 {true, []protocol.Fragment{edit(part(1, 20, 24), func(f *protocol.Fragment) { f.TotalBytes = 1 << 40 })}},
		"empty":                {false, []protocol.Fragment{part(1, 0, 0)}},
		"total changes":        {false, []protocol.Fragment{part(1, 0, 4), edit(part(1, 4, 24), func(f *protocol.Fragment) { f.TotalBytes++ })}},
		"other source":         {false, []protocol.Fragment{edit(whole(1), func(f *protocol.Fragment) { f.Kind = "overlay" })}},
		"not JSON":             {false, []protocol.Fragment{edit(whole(1), func(f *protocol.Fragment) { f.Data = []byte(row[1:] + "x") })}},
	} {
		direction := protocol.DirectionNewer
		if c.older {
			direction = protocol.DirectionOlder
		}
		if _, bad := newJoiner(protocol.SourceDurable, direction).add(c.fragments); codeOf(bad) != CodeProtocol {
			t.Errorf("%s: %v", name, bad)
		}
	}
}
