package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/store"
)

// requests takes what other processes, and this one, ask of the sessions that run
// here: to stop one, to have one's model read a message, and to move one to the
// background.
type requests struct {
	m       *Manager
	subs    []*nats.Subscription
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	waiting sync.WaitGroup // requests that are not answered
}

// startRequests begins to take them, until close.
func startRequests(m *Manager) (*requests, error) {
	r := &requests{m: m}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for subject, take := range map[string]nats.MsgHandler{
		m.store.StopSubject(m.bootID): r.takeStop,
		m.store.SendSubject(m.bootID): r.takeSend,

		m.store.BackgroundSubject(m.bootID): r.takeBackground,
	} {
		sub, err := m.bus.Conn().Subscribe(subject, take)
		if err != nil {
			r.close()
			return nil, fmt.Errorf("listening for requests about sessions: %w", err)
		}
		r.subs = append(r.subs, sub)
	}
	return r, nil
}

// close takes no more requests, and returns when those that wait are answered.
func (r *requests) close() {
	for _, sub := range r.subs {
		_ = sub.Unsubscribe() // an error: the connection is closed, and with it all that listens
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.waiting.Wait()
}

// takeStop is called for one request at a time; what takes long happens elsewhere.
func (r *requests) takeStop(msg *nats.Msg) {
	var req store.StopRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.m.log.Warn("a request to stop a session is not understood", "err", err)
		return
	}
	r.aside(func() {
		if s, ok := r.m.Live(req.SessionID); ok {
			if err := s.stop(r.ctx, &StoppedError{By: req.By}); err != nil {
				r.m.log.Warn("stopping a session", "session", s.id, "err", err)
			}
		}
		// The answer says: look at the record.
		if err := msg.Respond(nil); err != nil {
			r.m.log.Warn("answering a request to stop a session", "session", req.SessionID, "err", err)
		}
	})
}

// takeSend is called for one message at a time.
func (r *requests) takeSend(msg *nats.Msg) {
	var req store.SendRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.m.log.Warn("a message to a session is not understood", "err", err)
		return
	}
	var answer store.RequestAnswer
	if s, ok := r.m.Live(req.SessionID); ok {
		err := s.Send(req)
		answer = store.RequestAnswer{Taken: err == nil, Concludes: errors.Is(err, store.ErrConcludes)}
	}
	r.answer(msg, req.SessionID, answer)
}

// takeBackground is called for one request at a time; what takes long happens
// elsewhere.
func (r *requests) takeBackground(msg *nats.Msg) {
	var req store.BackgroundRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.m.log.Warn("a request to move a session to the background is not understood", "err", err)
		return
	}
	r.aside(func() {
		var answer store.RequestAnswer
		if s, ok := r.m.Live(req.SessionID); ok {
			err := s.MoveToBackground(req.By)
			if answer.Taken = err == nil; err != nil && !errors.Is(err, ErrNotWaiting) && !errors.Is(err, store.ErrEnded) {
				answer.Refused = errtext.Of(err)
			}
		}
		r.answer(msg, req.SessionID, answer)
	})
}

// aside has f, which may take long, run beside the requests that follow, unless r is
// closed. close waits for it.
func (r *requests) aside(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.waiting.Go(f)
	}
}

// answer answers a request about a session.
func (r *requests) answer(msg *nats.Msg, sessionID string, answer store.RequestAnswer) {
	data, err := json.Marshal(answer)
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		r.m.log.Warn("answering a request", "session", sessionID, "err", err)
	}
}
