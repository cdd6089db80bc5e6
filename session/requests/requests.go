package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// Sessions are the sessions of this process. It is safe for concurrent use.
type Sessions interface {
	// Stop stops a session that runs here. It returns when the session, or ctx, has ended.
	Stop(ctx context.Context, req StopRequest) error

	// Send has a session's model read a message, and does not wait until it has.
	Send(req SendRequest) RequestAnswer

	// MoveToBackground has the call that waits for a session return.
	MoveToBackground(req BackgroundRequest) RequestAnswer

	// StopCommand stops a command in a session's background, and does not wait for its end.
	StopCommand(req CommandRequest) RequestAnswer
}

// Listener receives requests about the sessions of this process until Close.
type Listener struct {
	to      Sessions
	log     *slog.Logger
	subs    []*nats.Subscription
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex
	closed  bool
	waiting sync.WaitGroup // requests without an answer yet
}

// Listen begins to receive the requests to the process of a boot id.
func Listen(conn *nats.Conn, sender *Sender, bootID string, to Sessions, log *slog.Logger) (*Listener, error) {
	r := &Listener{to: to, log: log}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for subject, receive := range map[string]nats.MsgHandler{
		sender.StopSubject(bootID):       r.receiveStop,
		sender.SendSubject(bootID):       r.receiveSend,
		sender.BackgroundSubject(bootID): r.receiveBackground,
		sender.CommandSubject(bootID):    r.receiveCommand,
	} {
		sub, err := conn.Subscribe(subject, receive)
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
		_ = sub.Unsubscribe() // an error means the connection is closed, so nothing listens any more
	}
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.waiting.Wait()
}

// receiveStop is called for one request at a time. Work that takes long happens elsewhere.
func (r *Listener) receiveStop(msg *nats.Msg) {
	var req StopRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a request to stop a session is not understood", "err", err)
		return
	}
	r.aside(func() {
		if err := r.to.Stop(r.ctx, req); err != nil {
			r.log.Warn("stopping a session", "session", req.SessionID, "err", err)
		}
		// The answer is empty: the record says how the session ended.
		if err := msg.Respond(nil); err != nil {
			r.log.Warn("answering a request to stop a session", "session", req.SessionID, "err", err)
		}
	})
}

// receiveSend is called for one message at a time.
func (r *Listener) receiveSend(msg *nats.Msg) {
	var req SendRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a message to a session is not understood", "err", err)
		return
	}
	r.answer(msg, req.SessionID, r.to.Send(req))
}

// receiveBackground is called for one request at a time. Work that takes long happens
// elsewhere.
func (r *Listener) receiveBackground(msg *nats.Msg) {
	var req BackgroundRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a request to move a session to the background is not understood", "err", err)
		return
	}
	r.aside(func() {
		r.answer(msg, req.SessionID, r.to.MoveToBackground(req))
	})
}

// receiveCommand is called for one request at a time.
func (r *Listener) receiveCommand(msg *nats.Msg) {
	var req CommandRequest
	if err := json.Unmarshal(msg.Data, &req); err != nil {
		r.log.Warn("a request to stop a command is not understood", "err", err)
		return
	}
	r.answer(msg, req.SessionID, r.to.StopCommand(req))
}

// aside runs f, which may take long, while later requests are received. It does nothing
// once r is closed. Close waits for f.
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
