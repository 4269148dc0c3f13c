package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConnContract(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		a, b := Pipe()
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

func TestWriteDoesNotWaitForReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		defer a.Close()
		if n, err := a.Write(make([]byte, BufferSize)); n != BufferSize || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		a.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := a.Write([]byte{1}); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Write into a full buffer = %d, %v", n, err)
		}
		a.Close()
		got, err := io.ReadAll(b)
		if len(got) != BufferSize || err != nil {
			t.Fatalf("ReadAll = %d bytes, %v", len(got), err)
		}
	})
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		b.Silence()
		if _, err := a.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		a.Close() // the other end must not learn of it
		b.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("Read of a silent connection: %v", err)
		}
		if _, err := b.Write([]byte("y")); err != nil {
			t.Fatalf("Write to a silent connection: %v", err)
		}
		b.SetReadDeadline(time.Time{})
		b.Resume()
		got, err := io.ReadAll(b)
		if string(got) != "x" || err != nil {
			t.Fatalf("after Resume: %q, %v", got, err)
		}
		b.Close()
	})
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen("test")
		c, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := s.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		l.Cut()
		if err := <-failed; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("other end's Read: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Write: %v", err)
		}
		c.Close()
		if n := len(l.Conns()); n != 0 {
			t.Errorf("%d connections after Close", n)
		}
	})
}

func TestListenerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen("test")
		queued, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.Refuse(true)
		if _, err := l.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial while refusing: %v", err)
		}
		l.Refuse(false)
		l.Close()
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
		if _, err := queued.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Read of a never accepted connection: %v", err)
		}
		if _, err := l.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial after Close: %v", err)
		}
		queued.Close()
	})
}

func TestDialGivesUpWhenNobodyAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen("test")
		defer l.Close()
		for range backlog {
			if _, err := l.Dial(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := l.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial with a full backlog: %v", err)
		}
	})
}

func TestServesHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen("host")
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.URL.Path)
		})}
		served := make(chan error)
		go func() { served <- srv.Serve(l) }()
		tr := &http.Transport{DialContext: l.DialContext}
		res, err := (&http.Client{Transport: tr}).Get("http://host/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != "/readyz" {
			t.Errorf("body %q", body)
		}
		tr.CloseIdleConnections()
		srv.Close()
		<-served
	})
}
