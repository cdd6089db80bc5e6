package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/conversation"
)

// talk is a conversation that a client has: a session, as the protocol calls it.
type talk struct {
	*connection
	*conversation.Conversation
	id string

	mu      sync.Mutex
	request *json.RawMessage   // the id of the newest prompt; nil means there was none
	cancel  context.CancelFunc // of the turn that runs; nil means none does
	stream  *stream            // of the session that is open, or was last; nil means none was
	as      string             // the agent that the session has gone on as; empty means the one that it began with
}

// agent is the name of the agent of the next prompt, or of that which works.
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

// opened shows what a session of the conversation does.
func (t *talk) opened(root *session.Session) {
	s := newStream(root)
	t.mu.Lock()
	t.stream, t.as = s, ""
	t.mu.Unlock()
	t.owned.Go(func() { t.follow(s) })
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

func (c *connection) cancelTurn(_ context.Context, p acp.CancelNotification) (any, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	t.stop()
	return nil, nil
}

func (c *connection) prompt(ctx context.Context, p acp.PromptRequest) (any, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	text, err := c.promptText(p.Prompt)
	if err != nil {
		return nil, invalid(err)
	}
	ctx, end, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	answer := t.Prompt(ctx, text)
	t.mu.Lock()
	s := t.stream
	t.mu.Unlock()
	if s != nil {
		s.await(t.life, answer.Seq)
	}
	reason, err := stopReason(ctx, answer)
	if err != nil {
		return nil, err
	}
	return &acp.PromptResponse{StopReason: reason}, nil
}

// stopReason says why a turn has ended; what has failed is an error.
func stopReason(ctx context.Context, a conversation.Answer) (acp.StopReason, error) {
	switch {
	case ctx.Err() != nil, a.Status == store.Cancelled:
		return acp.StopReasonCancelled, nil
	case a.Stop == model.StopRefusal:
		return acp.StopReasonRefusal, nil
	case a.Err != nil:
		return "", a.Err
	case a.OutOfSteps:
		return acp.StopReasonMaxTurnRequests, nil
	case a.Stop == model.StopMaxTokens:
		return acp.StopReasonMaxTokens, nil
	}
	return acp.StopReasonEndTurn, nil
}
