package run

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/follow"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/taskt/conversation"
)

// talker is the agent of 'worker run -i'.
type talker struct {
	*conversation.Conversation

	p     commands
	a     *app.Worker
	ctx   context.Context
	items chan any // for the screen: messages, and facts

	screen  context.Context // ends with the screen
	follows sync.WaitGroup
	newest  atomic.Value // the id of the newest session, a string
}

var (
	_ tui.Agent         = (*talker)(nil)
	_ approval.Approver = (*talker)(nil)
)

// feed sends the screen what comes for it, in its order.
func (c *talker) feed(ctx context.Context, send func(tea.Msg)) {
	follow.Batch(ctx, c.items, func(items []any) {
		var facts tui.Facts
		for _, item := range items {
			if fact, ok := item.(live.Event); ok {
				facts = append(facts, fact)
				continue
			}
			if len(facts) > 0 {
				send(facts)
				facts = nil
			}
			send(item)
		}
		if len(facts) > 0 {
			send(facts)
		}
	})
}

// show sends something to the screen, while there is one.
func (c *talker) show(item any) {
	select {
	case c.items <- item:
	case <-c.screen.Done():
	}
}

// Prompt implements [tui.Agent].
func (c *talker) Prompt(ctx context.Context, text string) tui.Answered {
	turn := c.Conversation.Prompt(ctx, text)
	answered := tui.Answered{Text: turn.Text, Err: turn.Err, Seq: turn.Seq}
	if turn.Seq > 0 && ctx.Err() != nil {
		answered.Err = errors.New("stopped")
	}
	if answered.Err != nil {
		answered.Err = errors.New(c.p.Advised(answered.Err))
	}
	return answered
}

// opened shows what a session of the conversation does.
func (c *talker) opened(root *session.Session) {
	c.newest.Store(root.ID())
	c.show(tui.Opened{ID: root.ID()})
	c.follows.Go(func() { c.follow(root) })
}

// follow shows what a session does, until it has ended.
func (c *talker) follow(root *session.Session) {
	_, err := follow.Session(c.screen, c.a.Bus, root.ID(), 0, func(f live.Event) { c.show(f) })
	if err != nil && c.screen.Err() == nil {
		c.p.Logger().Warn("what the session does is not shown any more", "session", root.ID(), "err", err)
	}
}

// Stop implements [tui.Agent].
func (c *talker) Stop(ctx context.Context, id string) (string, error) {
	return c.a.Stop(ctx, "worker run -i", id)
}

// MoveCommand implements [tui.Agent].
func (c *talker) MoveCommand(ctx context.Context, id string) (string, error) {
	if id == "" {
		if id, _ = c.newest.Load().(string); id == "" {
			return "nothing runs", nil
		}
	}
	return c.a.MoveCommand(ctx, "worker run -i", id)
}

// Model implements [tui.Agent].
func (c *talker) Model() string {
	set, live := c.Conversation.Model()
	if live != "" {
		return live
	}
	m, err := c.p.model(cmp.Or(set, c.Agent().Model))
	if err != nil {
		return "no model: " + errtext.Of(err)
	}
	return m.Name()
}

// SetModel implements [tui.Agent].
func (c *talker) SetModel(_ context.Context, name string) error {
	_, err := c.p.Models().Get(name)
	if err == nil {
		c.Conversation.SetModel(name)
	}
	return err
}

// Approve implements [approval.Approver]: the user is asked on the screen.
func (c *talker) Approve(ctx context.Context, a *approval.Approval) (approval.Answer, error) {
	reply := make(chan approval.Answer, 1)
	c.show(tui.Asked{Approval: a, Context: ctx, Reply: reply})
	select {
	case answer := <-reply:
		return answer, nil
	case <-ctx.Done():
		return approval.Answer{}, context.Cause(ctx)
	case <-c.screen.Done():
		return approval.Answer{}, errors.New("the terminal was closed")
	}
}

// end ends the conversation.
func (c *talker) end() error {
	if c.Conversation == nil { // it has not begun
		return nil
	}
	err := c.Conversation.End()
	c.follows.Wait()
	return err
}

// last is the id of the session that was talked in; empty means none was.
func (c *talker) last() string {
	if c.Conversation == nil {
		return ""
	}
	return c.Last()
}
