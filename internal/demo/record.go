package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// recorder writes what clients send, one compact JSON value a line. A nil writer records nothing.
type recorder struct {
	mu sync.Mutex
	w  io.Writer
}

func newRecorder(w io.Writer) *recorder { return &recorder{w: w} }

func (r *recorder) message(b []byte) {
	b = bytes.TrimSpace(b)
	if r.w == nil || len(b) == 0 {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, b) != nil {
		line.Reset()
		j, _ := json.Marshal(map[string]string{"garbage": string(b)})
		line.Write(j)
	}
	line.WriteByte('\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	r.w.Write(line.Bytes())
}

// reader passes in through and records its lines.
func (r *recorder) reader(in io.ReadCloser) io.ReadCloser {
	if r.w == nil {
		return in
	}
	return &lineTee{ReadCloser: in, line: r.message}
}

type lineTee struct {
	io.ReadCloser
	line func([]byte)
	buf  []byte
}

func (t *lineTee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.buf = append(t.buf, p[:n]...)
	for {
		i := bytes.IndexByte(t.buf, '\n')
		if i < 0 {
			return n, err
		}
		t.line(t.buf[:i])
		t.buf = append(t.buf[:0], t.buf[i+1:]...)
	}
}

func (r *recorder) middleware(next http.Handler) http.Handler {
	if r.w == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 32<<20))
			if err != nil {
				http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
				return
			}
			r.message(body)
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, req)
	})
}
