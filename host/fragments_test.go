package host

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"askback/protocol"
)

// TestFragmentsInAnyPieces: the count does not depend on where reads cut the stream, nor on how long frames are.
func TestFragmentsInAnyPieces(t *testing.T) {
	var stream []byte
	for _, n := range []int{0, 1, 125, 126, 65535, 65536, 70000} {
		stream = append(stream, clientFrame(0x01, n)...) // a message of three fragments, with a ping in it
		stream = append(stream, clientFrame(0x89, 5)...)
		stream = append(stream, clientFrame(0x00, n)...)
		stream = append(stream, clientFrame(0x80, n)...)
	}
	for _, piece := range []int{1, 2, 3, 7, 126, 4096, len(stream)} {
		c := &fragmentConn{}
		for b := range slices.Chunk(stream, piece) {
			if !c.follow(b) {
				t.Fatalf("refused in pieces of %d", piece)
			}
		}
		if c.fragments != 0 || c.left != 0 || c.got != 0 {
			t.Fatalf("in pieces of %d it ends within a message: %+v", piece, c)
		}
		if !c.follow(bytes.Repeat(clientFrame(0x00, 1), protocol.MaxFragments)) || c.follow(clientFrame(0x80, 1)) {
			t.Errorf("in pieces of %d the limit is not %d", piece, protocol.MaxFragments)
		}
	}
}

// clientFrame is a WebSocket frame of a client, with n bytes that look like headers.
func clientFrame(first byte, n int) []byte {
	f := []byte{first}
	switch {
	case n < 126:
		f = append(f, 0x80|byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 0x80|126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 0x80|127), uint64(n))
	}
	return append(append(f, 9, 9, 9, 9), bytes.Repeat([]byte{0x01}, n)...)
}
