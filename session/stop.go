package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// stopTimeout bounds [Store.Stop]. A process that has gone without a word is
	// known to have after [leaseTTL].
	stopTimeout = 30 * time.Second

	// stopRetry is the pause before a process is asked again that does not listen,
	// or does not know the session yet.
	stopRetry = 100 * time.Millisecond
)

// StoppedError is why the work of a session ended: somebody has stopped it. It
// is a [context.Canceled].
type StoppedError struct {
	By string // for people: "alice by worker sessions stop"
}

func (e *StoppedError) Error() string { return "stopped by " + e.By }

// Is reports whether target is [context.Canceled].
func (e *StoppedError) Is(target error) bool { return target == context.Canceled }

// EndedError tells that the session to stop had ended before. It is an
// [ErrEnded].
type EndedError struct{ Record *Record }

func (e *EndedError) Error() string {
	r := e.Record
	return fmt.Sprintf("session %s does not run: it is %s since %s", r.ID, r.Status, r.EndedAt.Local().Format(time.DateTime))
}

// Is reports whether target is [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// ErrNotStopped is returned for a session that has not ended in time. It may
// still do: what it was told counts.
var ErrNotStopped = errors.New("it has not ended in time")

// stopRequest is what the process of a session is asked.
type stopRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"`
}

// stopSubject is where the process of a boot id takes requests to stop sessions.
func (s *Store) stopSubject(bootID string) string {
	return "agents.v1." + s.workspace + ".workers." + bootID + ".stop"
}

// Stop ends a session and all below it, in whatever process they run. It
// returns the record once all of their events are stored. The status is
// cancelled, or however else it has ended meanwhile; interrupted if its process
// is gone. by tells people who stops it.
//
// Its errors are those of Get, an [*EndedError] for a session that had ended
// before, and [ErrNotStopped] for one that has not ended within 30 s, or before
// ctx has.
func (s *Store) Stop(ctx context.Context, id, by string) (*Record, error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.Ended() {
		return r, &EndedError{r}
	}
	data, err := json.Marshal(stopRequest{r.ID, by})
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	said := "its process, " + r.BootID + ", does not answer"
	for {
		there, err := s.alive(ctx, r.BootID)
		if err == nil && !there {
			err = s.recoverBelow(ctx, r.ID)
		}
		if err == nil && there {
			if err = s.bus.Request(ctx, s.stopSubject(r.BootID), data); errors.Is(err, nats.ErrNoResponders) {
				said, err = "its process takes no requests to stop", nil
			}
		}
		if ctx.Err() != nil {
			return r, fmt.Errorf("stopping session %s: %w: %s", r.ID, ErrNotStopped, said)
		}
		if err != nil {
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		}
		current, err := s.Get(ctx, r.ID)
		if err != nil {
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		}
		if current.Closed {
			return current, nil
		}
		select { // it has only just been opened, or is not closed by whoever ends it
		case <-ctx.Done():
		case <-time.After(stopRetry):
		}
	}
}

// stops takes the requests to stop sessions of this process.
type stops struct {
	m       *Manager
	sub     *nats.Subscription
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
	var err error
	st.sub, err = m.bus.Conn().Subscribe(m.store.stopSubject(m.bootID), st.take)
	if err != nil {
		st.cancel()
		return nil, fmt.Errorf("listening for sessions to stop: %w", err)
	}
	return st, nil
}

// close takes no more requests, and returns when those that wait are answered.
func (st *stops) close() {
	_ = st.sub.Unsubscribe() // an error: the connection is closed, and with it all that listens
	st.mu.Lock()
	st.closed = true
	st.mu.Unlock()
	st.cancel()
	st.waiting.Wait()
}

// take is called for one request at a time; what takes long happens elsewhere.
func (st *stops) take(msg *nats.Msg) {
	var req stopRequest
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
		if err := s.End(Cancelled, why); err != nil && !errors.Is(err, ErrEnded) {
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
