package httpserver

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// bigStream yields events of 900 kB for ever, and counts their bytes.
func bigStream(read *atomic.Int64) iter.Seq2[eventbus.Delivery, error] {
	return func(yield func(eventbus.Delivery, error) bool) {
		for seq := uint64(1); ; seq++ {
			raw := []byte(`{"type":"text_delta","text":"` + strings.Repeat("x", 900_000) + `"}`)
			read.Add(int64(len(raw)))
			if !yield(eventbus.Delivery{Seq: seq, Raw: raw}, nil) {
				return
			}
		}
	}
}

// blockedConn is a client that takes nothing. It says when the server has begun to
// write to it.
type blockedConn struct {
	net.Conn
	begun chan struct{}
	gone  chan struct{}
}

func (c *blockedConn) Write([]byte) (int, error) {
	notify(c.begun)
	<-c.gone
	return 0, errors.New("gone")
}

// patientRecorder is a client with a deadline that it never reaches.
type patientRecorder struct{ *httptest.ResponseRecorder }

func (patientRecorder) SetWriteDeadline(time.Time) error { return nil }

// TestStreamIsBoundedByBytes: of a stream that nobody takes, a few events are read
// from the store, however large they are. 64 of 900 kB were.
func TestStreamIsBoundedByBytes(t *testing.T) {
	out := newEventWriter(patientRecorder{httptest.NewRecorder()})
	ctx, cancel := context.WithCancel(t.Context())
	var bytes atomic.Int64
	done := make(chan error, 1)
	go func() { done <- out.read(ctx, bigStream(&bytes)) }()
	<-out.ready
	if out.append("x", nil) {
		t.Error("there is room beside an event that waits")
	}
	if err := out.flush(); err != nil {
		t.Fatal(err)
	}
	<-out.ready
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := bytes.Load(); got > 3*1_000_000 { // the one sent, one that waits, one at the door
		t.Errorf("%d bytes were read for a client that takes nothing", got)
	}
}

// TestUnreadStreams: the same for clients of a server that read nothing.
func TestUnreadStreams(t *testing.T) {
	var bytes atomic.Int64
	var begun, gone = make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = newEventWriter(w).send(r.Context(), bigStream(&bytes), time.Hour) // the client goes
	}))
	server.Listener = &blockedListener{server.Listener, begun, gone}
	server.Start()
	defer server.Close()
	const clients = 10
	for range clients {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	if got := bytes.Load(); got > clients*3*1_000_000 {
		t.Errorf("%d bytes were read for %d clients that take nothing", got, clients)
	}
	close(gone)
}

type blockedListener struct {
	net.Listener
	begun, gone chan struct{}
}

func (l *blockedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &blockedConn{conn, l.begun, l.gone}, nil
}
