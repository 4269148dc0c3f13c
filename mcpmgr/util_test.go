package mcpmgr

import (
	"bytes"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// syncBuffer is a buffer for loggers of several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func decodeSDK(raw []byte) (jsonrpc.Message, error) { return jsonrpc.DecodeMessage(raw) }
