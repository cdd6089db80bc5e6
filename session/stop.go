package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/store"
)

// StoppedError is why the work of a session ended: somebody has stopped it. It
// is a [context.Canceled].
type StoppedError struct {
	By string // for people: "alice by worker sessions stop"
}

func (e *StoppedError) Error() string { return "stopped by " + e.By }

// Is reports whether target is [context.Canceled].
func (e *StoppedError) Is(target error) bool { return target == context.Canceled }

// stops takes the requests to stop sessions of this process, and the messages to
// their models.
type stops struct {
	m       *Manager
	subs    []*nats.Subscription
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	waiting sync.WaitGroup // requests that are not answered
}

// startStops begins to take them, until close.
func startStops(m *Manager) (*stops, error) {
	st := &stops{m: m}
	st.ctx, st.cancel = context.WithCancel(context.Background())
	for subject, take := range map[string]nats.MsgHandler{
		m.store.StopSubject(m.bootID): st.take,
		m.store.SendSubject(m.bootID): st.takeMessage,
	} {
		sub, err := m.bus.Conn().Subscribe(subject, take)
		if err != nil {
			st.close()
			return nil, fmt.Errorf("listening for requests about sessions: %w", err)
		}
		st.subs = append(st.subs, sub)
	}
	return st, nil
}

// close takes no more requests, and returns when those that wait are answered.
func (st *stops) close() {
	for _, sub := range st.subs {
		_ = sub.Unsubscribe() // an error: the connection is closed, and with it all that listens
	}
	st.mu.Lock()
	st.closed = true
	st.mu.Unlock()
	st.cancel()
	st.waiting.Wait()
}

// take is called for one request at a time; what takes long happens elsewhere.
func (st *stops) take(msg *nats.Msg) {
	var req store.StopRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		st.m.log.Warn("a request to stop a session is not understood", "err", err)
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return
	}
	st.waiting.Go(func() {
		if s, ok := st.m.Live(req.SessionID); ok {
			if err := s.stop(st.ctx, &StoppedError{By: req.By}); err != nil {
				st.m.log.Warn("stopping a session", "session", s.id, "err", err)
			}
		}
		// The answer says: look at the record.
		if err := msg.Respond(nil); err != nil {
			st.m.log.Warn("answering a request to stop a session", "session", req.SessionID, "err", err)
		}
	})
}

// stop ends what the session does, and returns when it has ended, or ctx has.
func (s *Session) stop(ctx context.Context, why *StoppedError) error {
	s.life.end(why)
	if s.lasting {
		if err := s.drained(ctx); err != nil {
			return err
		}
		if err := s.End(store.Cancelled, why); err != nil && !errors.Is(err, store.ErrEnded) {
			return err
		}
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bound returns a context that ends with ctx, and when the session is stopped.
func (s *Session) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	b := s.life.bind(ctx)
	return b.ctx, b.release
}

// begin counts a call of a caller as one that runs, unless the session has been
// stopped.
func (s *Session) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life.over(); err != nil {
		return fmt.Errorf("session %s takes no more calls: %w", s.id, err)
	}
	s.active++
	return nil
}

// finish ends what begin began, and reports whether it was the last call.
func (s *Session) finish() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	return s.active == 0
}

// drained returns when no call of a caller runs in a session that is stopped.
func (s *Session) drained(ctx context.Context) error {
	s.mu.Lock()
	if s.active == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
