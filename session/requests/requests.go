// Package requests receives the requests of all processes about sessions that run here. They
// stop a session, have its model read a message, or move it to the background.
package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/store"
)

// Sessions are the sessions of this process. It is safe for concurrent use.
type Sessions interface {
	// Stop stops a session that runs here, and returns when it has ended, or ctx has.
	Stop(ctx context.Context, req store.StopRequest) error

	// Send has the model of a session read a message. It does not wait for that.
	Send(req store.SendRequest) store.RequestAnswer

	// MoveToBackground has the call return that waits for a session.
	MoveToBackground(req store.BackgroundRequest) store.RequestAnswer
}

// Listener takes requests until Close.
type Listener struct {
	to      Sessions
	log     *slog.Logger
	subs    []*nats.Subscription
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	waiting sync.WaitGroup // requests that are not answered
}

// Listen begins to take the requests to a process.
func Listen(conn *nats.Conn, sessions *store.Store, bootID string, to Sessions, log *slog.Logger) (*Listener, error) {
	r := &Listener{to: to, log: log}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for subject, take := range map[string]nats.MsgHandler{
		sessions.StopSubject(bootID):       r.takeStop,
		sessions.SendSubject(bootID):       r.takeSend,
		sessions.BackgroundSubject(bootID): r.takeBackground,
	} {
		sub, err := conn.Subscribe(subject, take)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("listening for requests about sessions: %w", err)
		}
		r.subs = append(r.subs, sub)
	}
	return r, nil
}

// Close refuses further requests, and returns when the open ones are answered.
func (r *Listener) Close() {
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
func (r *Listener) takeStop(msg *nats.Msg) {
	var req store.StopRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a request to stop a session is not understood", "err", err)
		return
	}
	r.aside(func() {
		if err := r.to.Stop(r.ctx, req); err != nil {
			r.log.Warn("stopping a session", "session", req.SessionID, "err", err)
		}
		// The answer says: look at the record.
		if err := msg.Respond(nil); err != nil {
			r.log.Warn("answering a request to stop a session", "session", req.SessionID, "err", err)
		}
	})
}

// takeSend is called for one message at a time.
func (r *Listener) takeSend(msg *nats.Msg) {
	var req store.SendRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a message to a session is not understood", "err", err)
		return
	}
	r.answer(msg, req.SessionID, r.to.Send(req))
}

// takeBackground is called for one request at a time; what takes long happens
// elsewhere.
func (r *Listener) takeBackground(msg *nats.Msg) {
	var req store.BackgroundRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a request to move a session to the background is not understood", "err", err)
		return
	}
	r.aside(func() {
		r.answer(msg, req.SessionID, r.to.MoveToBackground(req))
	})
}

// aside has f, which may take long, run beside the requests that follow, unless r is
// closed. Close waits for it.
func (r *Listener) aside(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.waiting.Go(f)
	}
}

// answer answers a request about a session.
func (r *Listener) answer(msg *nats.Msg, sessionID string, answer store.RequestAnswer) {
	data, err := json.Marshal(answer)
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		r.log.Warn("answering a request", "session", sessionID, "err", err)
	}
}
