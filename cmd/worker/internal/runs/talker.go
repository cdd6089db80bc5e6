package runs

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/chat"
	"github.com/agentworker/worker/cmd/worker/internal/live"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// talker is the agent of 'worker run -i'. Its session is opened by the first
// prompt. Where it has ended, as for another model, the next prompt opens the next run
// of it.
type talker struct {
	p     commands
	a     *app.Worker
	def   *agentdefs.Definition
	ctx   context.Context
	items chan any // for the screen: messages, and facts

	screen  context.Context // ends with the screen
	turns   sync.WaitGroup
	follows sync.WaitGroup

	mu      sync.Mutex
	over    bool
	model   string // in place of the agent's; empty means that one
	root    *session.Session
	titled  func()        // waits for the title of root
	resumes *store.Record // that the next root goes on with; nil means a new conversation
}

var (
	_ chat.Agent    = (*talker)(nil)
	_ gate.Approver = (*talker)(nil)
)

// feed sends the screen what comes for it, in its order.
func (c *talker) feed(ctx context.Context, send func(tea.Msg)) {
	live.Collect(ctx, c.items, func(items []any) {
		var facts chat.Facts
		for _, item := range items {
			if fact, ok := item.(live.Fact); ok {
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

// show hands something to the screen, while there is one.
func (c *talker) show(item any) {
	select {
	case c.items <- item:
	case <-c.screen.Done():
	}
}

// Prompt implements [chat.Agent].
func (c *talker) Prompt(ctx context.Context, text string) chat.Answered {
	if !c.begin() {
		return chat.Answered{Err: errors.New("the conversation has ended")}
	}
	defer c.turns.Done()
	root, err := c.open(text)
	if err != nil {
		return chat.Answered{Err: err}
	}
	outcome := root.Prompt(ctx, text)
	c.a.Tasks.Look(root, &outcome)
	answered := chat.Answered{Text: outcome.Text, Err: outcome.Err}
	if errors.As(outcome.Err, new(*session.StoppedError)) { // it ends
		answered.Err = errors.Join(outcome.Err, c.leave(outcome.Status, outcome.Err))
		return c.advised(answered)
	}
	answered.Seq, err = root.Settle(c.ctx)
	if err != nil { // the store has failed it, or it has ended meanwhile
		answered.Err = errors.Join(outcome.Err, c.leave(store.Failed, err))
	} else if ctx.Err() != nil {
		answered.Err = errors.New("stopped")
	}
	return c.advised(answered)
}

// advised adds what to do about an error.
func (c *talker) advised(a chat.Answered) chat.Answered {
	if a.Err != nil {
		lines := append([]string{errtext.Of(a.Err)}, app.Advice(a.Err, &c.p.Settings, c.p.Getenv)...)
		a.Err = errors.New(strings.Join(lines, "\n"))
	}
	return a
}

// begin counts a turn, unless the conversation has ended.
func (c *talker) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.turns.Add(1)
	}
	return !c.over
}

// open returns the session of the conversation, which it opens where there is none.
func (c *talker) open(prompt string) (*session.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil && !c.root.Record().Status.Ended() {
		return c.root, nil
	}
	if c.root != nil { // somebody has stopped it
		<-c.root.Done()
		record := c.root.Record()
		c.resumes, c.root = &record, nil
	}
	as := taskt.Conversation{Description: firstWords(prompt), Model: c.model, Lasting: true, Resumes: c.resumes}
	if c.resumes != nil {
		as.Description = c.resumes.Description
	}
	root, err := c.a.Tasks.OpenConversation(c.ctx, c.def, as)
	if err != nil {
		return nil, err
	}
	c.titled = func() {}
	if c.resumes == nil {
		c.titled = c.a.Tasks.Entitle(c.ctx, root, prompt)
	}
	c.root = root
	c.show(chat.Opened{ID: root.ID(), Model: root.Record().Model})
	c.follows.Go(func() { c.follow(root) })
	return root, nil
}

// follow shows what a session does, until it has ended.
func (c *talker) follow(root *session.Session) {
	_, err := live.Follow(c.screen, c.a.Bus, root.ID(), 0, func(f live.Fact) { c.show(f) })
	if err != nil && c.screen.Err() == nil {
		c.p.Logger().Warn("what the session does is not shown any more", "session", root.ID(), "err", err)
	}
}

// leave ends the session, which the next prompt goes on with.
func (c *talker) leave(status store.Status, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == nil {
		return nil
	}
	c.titled()
	err := c.root.End(status, why)
	if errors.Is(err, store.ErrEnded) { // who has stopped it has ended it
		<-c.root.Done()
		err = nil
	}
	record := c.root.Record()
	c.resumes, c.root = &record, nil
	return err
}

// Send implements [chat.Agent].
func (c *talker) Send(text string) error {
	c.mu.Lock()
	root := c.root
	c.mu.Unlock()
	if root == nil {
		return errors.New("nothing runs")
	}
	return root.Send(store.SendRequest{SessionID: root.ID(), MessageID: store.NewID("msg"), Text: text})
}

// Stop implements [chat.Agent].
func (c *talker) Stop(ctx context.Context, id string) (string, error) {
	return c.a.Stop(ctx, "worker run -i", id)
}

// Model implements [chat.Agent].
func (c *talker) Model() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil {
		return c.root.Record().Model
	}
	m, err := c.p.model(cmp.Or(c.model, c.def.Model))
	if err != nil {
		return "no model: " + errtext.Of(err)
	}
	return m.Name()
}

// SetModel implements [chat.Agent].
func (c *talker) SetModel(_ context.Context, name string) error {
	if _, err := c.p.Models().Get(name); err != nil {
		return err
	}
	if err := c.leave(store.Completed, nil); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model = name
	return nil
}

// Approve implements [gate.Approver]: the user is asked on the screen.
func (c *talker) Approve(ctx context.Context, req *gate.Request) (store.Answer, error) {
	reply := make(chan store.Answer, 1)
	c.show(chat.Asked{Approval: asked(req), Context: ctx, Reply: reply})
	select {
	case answer := <-reply:
		return answer, nil
	case <-ctx.Done():
		return store.Answer{}, context.Cause(ctx)
	case <-c.screen.Done():
		return store.Answer{}, errors.New("the terminal was closed")
	}
}

// end ends the conversation.
func (c *talker) end() error {
	status, why := store.Completed, error(nil)
	if c.ctx.Err() != nil {
		status, why = store.Cancelled, context.Cause(c.ctx)
	}
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.turns.Wait()
	err := c.leave(status, why)
	c.follows.Wait()
	return err
}

// last is the id of the session that was talked in; empty means none was.
func (c *talker) last() string {
	if c.resumes == nil {
		return ""
	}
	return c.resumes.ID
}
