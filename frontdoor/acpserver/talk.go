package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/conversation"
)

// talk is a conversation that a client has: a session, as the protocol calls it.
type talk struct {
	*client
	*conversation.Conversation
	id string

	mu      sync.Mutex
	request *json.RawMessage   // the id of the newest prompt; nil means there was none
	cancel  context.CancelFunc // of the turn that runs; nil means none does
	stream  *stream            // of the session that is open, or was last; nil means none was
	as      string             // the agent that the session has become; empty means its first one
}

// agent is the name of the agent that works, else of the next prompt's.
func (t *talk) agent() string {
	t.mu.Lock()
	as := t.as
	t.mu.Unlock()
	if as != "" {
		return as
	}
	return t.Agent().Name
}

// become notes as which agent the session goes on.
func (t *talk) become(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.as = name
}

// opened notes that a session of the conversation begins, and returns its stream.
func (t *talk) opened(root *session.Session) *stream {
	s := newStream(root)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream, t.as = s, ""
	return s
}

// begin begins a turn, unless one runs. end ends it. It ends with the request, too: not
// with the reason of that, which would be a failure.
func (t *talk) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		return nil, nil, invalid(errors.New("a turn of this session runs: cancel it, or wait for its end"))
	}
	turn, cancel := context.WithCancel(t.ctx)
	unlink := context.AfterFunc(ctx, cancel)
	t.cancel = cancel
	return turn, func() {
		unlink()
		t.stop()
		t.mu.Lock()
		t.cancel = nil
		t.mu.Unlock()
	}, nil
}

// stop stops the turn that runs, if one does.
func (t *talk) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
