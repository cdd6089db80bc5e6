// Package requests takes what other processes, and this one, ask of the sessions that run
// here: to stop one, to have one's model read a message, and to move one to the background.
package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// Sessions are those that run in this process. It is safe for concurrent use.
type Sessions interface {
	// Stop stops a session that runs here, and returns when it has ended, or ctx has.
	Stop(ctx context.Context, req StopRequest) error

	// Send has the model of a session read a message. It does not wait for that.
	Send(req SendRequest) RequestAnswer

	// MoveToBackground has the call return that waits for a session.
	MoveToBackground(req BackgroundRequest) RequestAnswer
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
func Listen(conn *nats.Conn, sender *Sender, bootID string, to Sessions, log *slog.Logger) (*Listener, error) {
	r := &Listener{to: to, log: log}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for subject, take := range map[string]nats.MsgHandler{
		sender.StopSubject(bootID):       r.takeStop,
		sender.SendSubject(bootID):       r.takeSend,
		sender.BackgroundSubject(bootID): r.takeBackground,
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

// Close takes no more requests, and returns when those that wait are answered.
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
	var req StopRequest
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
	var req SendRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a message to a session is not understood", "err", err)
		return
	}
	r.answer(msg, req.SessionID, r.to.Send(req))
}

// takeBackground is called for one request at a time; what takes long happens
// elsewhere.
func (r *Listener) takeBackground(msg *nats.Msg) {
	var req BackgroundRequest
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
func (r *Listener) answer(msg *nats.Msg, sessionID string, answer RequestAnswer) {
	data, err := json.Marshal(answer)
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		r.log.Warn("answering a request", "session", sessionID, "err", err)
	}
}
