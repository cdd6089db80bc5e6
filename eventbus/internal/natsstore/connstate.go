package natsstore

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/internal/termtext"
)

// errDisconnected is why an attempt is given up: its answer can't arrive any more.
var errDisconnected = errors.New("the connection to the event store was lost")

// connState tells whether a connection is up, and when it is lost.
type connState struct {
	lost chan struct{} // gets a value when the connection is lost, if there is room

	mu   sync.Mutex
	conn *nats.Conn      // nil means not made yet
	said error           // by the server since the connection was lost; nil means nothing
	up   chan struct{}   // closed while the connection is up
	life context.Context // ends when the connection is lost
	end  context.CancelCauseFunc
}

func newConnState() *connState {
	s := &connState{up: make(chan struct{}), lost: make(chan struct{}, 1)}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

// options makes a connection report to s, once it is up.
func (s *connState) options() []nats.Option {
	return []nats.Option{
		nats.ReconnectHandler(func(*nats.Conn) { s.connected() }),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { s.disconnected() }),
	}
}

func (s *connState) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(errDisconnected) // what began earlier may have been sent on the old connection
	s.life, s.end = context.WithCancelCause(context.Background())
	s.said = nil
	select {
	case <-s.up:
	default:
		close(s.up)
	}
}

// failed reports what a server says of the connection, or of a try to make it
// anew.
func (s *connState) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.up:
	default:
		s.said = err
	}
}

// isUp reports whether the connection is up.
func (s *connState) isUp() bool {
	up, _ := s.current()
	select {
	case <-up:
		return true
	default:
		return false
	}
}

// diagnosis returns why the connection is not made anew, in the form of a remark
// behind an error that does not say it.
func (s *connState) diagnosis() string {
	s.mu.Lock()
	said, conn := s.said, s.conn
	s.mu.Unlock()
	if said != nil {
		return " (the server says: " + termtext.OneLine(said.Error(), termtext.MaxCause) + ")"
	}
	var refused *tls.CertificateVerificationError // of which the library tells nobody
	if conn != nil && errors.As(conn.LastError(), &refused) {
		return " (the server is not trusted: " + termtext.OneLine(refused.Error(), termtext.MaxCause) + ")"
	}
	return ""
}

// of says which connection it is.
func (s *connState) of(conn *nats.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = conn
}

func (s *connState) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(errDisconnected)
	select {
	case <-s.up:
		s.up = make(chan struct{})
	default:
	}
	select {
	case s.lost <- struct{}{}:
	default:
	}
}

// current returns the channel that is closed while the connection is up, and the
// context that ends when it is lost.
func (s *connState) current() (up <-chan struct{}, life context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up, s.life
}

// await waits until the connection is up. It returns a context that ends with
// ctx, when the connection is lost, and with closed.
func (s *connState) await(ctx, closed context.Context) (context.Context, context.CancelFunc, error) {
	for {
		up, life := s.current()
		select {
		case <-up:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-closed.Done():
			return nil, nil, context.Cause(closed)
		}
		if life.Err() != nil { // reconnected in the meantime
			continue
		}
		attempt, end := context.WithCancel(ctx)
		stopLife, stopClosed := context.AfterFunc(life, end), context.AfterFunc(closed, end)
		return attempt, func() { stopLife(); stopClosed(); end() }, nil
	}
}
