package broker

import "askback/protocol"

// assembly collects a chunked result.
type assembly struct {
	data  []byte
	size  int
	next  int
	count int
}

// chunksOf is how many chunks a result of n bytes takes.
func chunksOf(n int) int { return (n + protocol.ChunkBytes - 1) / protocol.ChunkBytes }

func (b *Broker) start(inv *invocation, f *protocol.CapabilityResultStart) {
	if f.ByteLength < 1 || f.ByteLength > protocol.MaxResultBytes || f.ChunkCount != chunksOf(f.ByteLength) {
		b.violate(inv.conn, "result_start with a wrong length or number of chunks")
		return
	}
	inv.phase = Chunks
	inv.chunks = &assembly{size: f.ByteLength, count: f.ChunkCount} // grown as it comes: a length is only a claim
}

// chunk appends one chunk. All but the last are exactly ChunkBytes long, which makes the lengths add up.
func (b *Broker) chunk(inv *invocation, f *protocol.CapabilityResultChunk) {
	a := inv.chunks
	want := min(protocol.ChunkBytes, a.size-len(a.data))
	if f.Index != a.next || len(f.Data) != want {
		b.violate(inv.conn, "result_chunk out of order or of a wrong length")
		return
	}
	a.data = append(a.data, f.Data...)
	a.next++
	if a.next < a.count {
		return
	}
	result, err := protocol.DecodeToolResult(a.data)
	if err != nil {
		b.violate(inv.conn, "chunked result that is not a legal result")
		return
	}
	b.finish(inv, result)
}
