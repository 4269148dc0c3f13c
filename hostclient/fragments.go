package hostclient

import (
	"askback/protocol"
)

// maxRowBytes bounds one row of a transcript, so that a Host cannot make us hold what it likes: a result of the largest
// size, as JSON inside a row.
const maxRowBytes = 2 * protocol.MaxResultBytes

// Row is one whole row of a transcript. Index is its sequence, or its place in the overlay.
type Row struct {
	Index int64
	protocol.Row
}

// joiner puts the fragments of a page direction together. Rows come in one order, and a row's fragments without gap:
// forwards, or (older) from its tail to its front.
type joiner struct {
	source string
	older  bool

	open    bool
	index   int64
	total   int64
	missing int64 // bytes still to come
	bytes   []byte

	last  int64 // index of the last whole row
	began bool
}

func newJoiner(source, direction string) *joiner {
	return &joiner{source: source, older: direction == protocol.DirectionOlder}
}

// partial reports whether a row waits for its rest.
func (j *joiner) partial() bool { return j.open }

// add returns the rows that the fragments complete, in the order they came.
func (j *joiner) add(fragments []protocol.Fragment) ([]Row, *Error) {
	var rows []Row
	for _, f := range fragments {
		if bad := j.admit(&f); bad != nil {
			return nil, bad
		}
		size := int64(len(f.Data))
		if j.older {
			copy(j.bytes[f.ByteOffset:], f.Data)
		} else {
			j.bytes = append(j.bytes, f.Data...)
		}
		if j.missing -= size; j.missing > 0 {
			continue
		}
		row, err := protocol.DecodeRow(j.bytes)
		if err != nil {
			return nil, violation("the Host sent a transcript row that is not one: %v", err)
		}
		rows = append(rows, Row{Index: j.index, Row: *row})
		j.open, j.bytes = false, nil
		j.last, j.began = j.index, true
	}
	return rows, nil
}

// admit checks that a fragment is the next one, and opens its row when it is the row's first.
func (j *joiner) admit(f *protocol.Fragment) *Error {
	index := f.Sequence
	if f.Kind == protocol.SourceOverlay {
		index = f.MessageIndex
	}
	size := int64(len(f.Data))
	switch {
	case f.Kind != j.source:
		return violation("the Host sent a fragment of the other transcript source")
	case f.TotalBytes > maxRowBytes:
		return violation("the Host sent a transcript row of more than %d bytes", int64(maxRowBytes))
	case size == 0 || f.ByteOffset > f.TotalBytes-size:
		return violation("the Host sent a transcript fragment outside its row")
	}
	if j.open {
		if index != j.index || f.TotalBytes != j.total || f.ByteOffset != j.expected(size) {
			return violation("the Host left a gap in a transcript row")
		}
		return nil
	}
	if j.began && (j.older && index >= j.last || !j.older && index <= j.last) {
		return violation("the Host sent transcript rows out of order")
	}
	j.open, j.index, j.total, j.missing = true, index, f.TotalBytes, f.TotalBytes
	if f.ByteOffset != j.expected(size) {
		return violation("the Host began a transcript row in its middle")
	}
	if j.older {
		j.bytes = make([]byte, f.TotalBytes)
	} else {
		j.bytes = nil
	}
	return nil
}

// expected is where a fragment of the given size must lie.
func (j *joiner) expected(size int64) int64 {
	if j.older {
		return j.missing - size
	}
	return j.total - j.missing
}
