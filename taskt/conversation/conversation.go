// Package conversation is a person's conversation with a primary agent: prompt after prompt in
// one session. If that has ended, as for another model, the next prompt opens a session that
// resumes it.
package conversation

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/taskt"
)

// Options configures a [Conversation]. Tasks, Agents and Agent are required.
type Options struct {
	Tasks  *taskt.Service
	Agents taskt.Agents
	Agent  *agentdefs.Definition // with whom it begins

	// AskedBy is who begins it. Empty means that is not known.
	AskedBy record.Person

	// Servers are MCP servers that the person brings.
	Servers []*mcpconfig.Server

	ID      string         // of its first session; empty means a new one
	Resumes *record.Record // a session to resume, which has ended; nil means it begins anew

	// Opened is called with each of its sessions, before that is prompted. It must not
	// call the conversation. It may be nil.
	Opened func(*session.Session)
}

// Conversation is a conversation with a primary agent. It is safe for concurrent use, except that
// it makes one turn at a time.
type Conversation struct {
	opts  Options
	ctx   context.Context
	turns sync.WaitGroup

	mu      sync.Mutex
	over    bool
	agent   *agentdefs.Definition
	model   string           // empty means the agent's
	stale   bool             // the next prompt is one for another run
	root    *session.Session // nil means there is none at the moment
	as      *agentdefs.Definition
	titled  func()         // waits for the title of root
	resumes *record.Record // what the next root resumes; nil means nothing
}

// Answer is how a turn has ended.
type Answer struct {
	session.Outcome

	// Seq is the number of the turn's last event. It is 0 if the session has ended with the
	// turn, or if there was none.
	Seq uint64
}

// New returns a conversation, whose sessions end with ctx. It opens the first one when it
// is prompted. End it.
func New(ctx context.Context, opts Options) *Conversation {
	return &Conversation{opts: opts, ctx: ctx, agent: opts.Agent, resumes: opts.Resumes}
}

// Prompt makes a turn, of a text and what is attached to it. What stops it by ctx leaves the conversation open.
func (c *Conversation) Prompt(ctx context.Context, text string, attached ...picture.Attachment) Answer {
	root, err := c.begin(text)
	if err != nil {
		return failed(err)
	}
	defer c.turns.Done()
	answer := Answer{Outcome: root.Prompt(ctx, text, attached...)}
	c.opts.Tasks.NoteEvidence(root, &answer.Outcome)
	if errors.As(answer.Err, new(*session.StoppedError)) { // it ends
		answer.Err = errors.Join(answer.Err, c.endSession(answer.Status, answer.Err))
		return answer
	}
	if answer.Seq, err = root.Settle(c.ctx); err != nil { // the store has failed it, or it has ended meanwhile
		answer.Status = record.Failed
		answer.Err = errors.Join(answer.Err, c.endSession(record.Failed, err))
	}
	return answer
}

func failed(err error) Answer {
	return Answer{Outcome: session.Outcome{Status: record.Failed, Err: err}}
}

// begin returns the session for a turn, which it counts.
func (c *Conversation) begin(prompt string) (*session.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, errors.New("the conversation has ended")
	}
	if c.root != nil && (c.stale || c.root.Record().Status.Ended()) {
		if err := c.end(record.Completed, nil); err != nil {
			return nil, err
		}
	}
	if c.root == nil {
		if err := c.open(prompt); err != nil {
			return nil, err
		}
	}
	c.turns.Add(1)
	return c.root, nil
}

// open opens a session. c.mu is held.
func (c *Conversation) open(prompt string) error {
	as := taskt.Conversation{ID: c.opts.ID, Description: FirstWords(prompt), Model: c.model, AskedBy: c.opts.AskedBy, Lasting: true, Resumes: c.resumes, Servers: c.opts.Servers}
	if c.resumes != nil {
		as.ID, as.Description = "", c.resumes.Description
	}
	root, err := c.opts.Tasks.OpenConversation(c.ctx, c.agent, as)
	if err != nil {
		return err
	}
	c.titled = func() {}
	if c.resumes == nil {
		c.titled = c.opts.Tasks.Entitle(c.ctx, root, prompt)
	}
	c.root, c.as, c.stale = root, c.agent, false
	if c.opts.Opened != nil {
		c.opts.Opened(root)
	}
	return nil
}

// endSession ends the session. The next prompt resumes it.
func (c *Conversation) endSession(status record.Status, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end(status, why)
}

// end is endSession with c.mu held.
func (c *Conversation) end(status record.Status, why error) error {
	if c.root == nil {
		return nil
	}
	c.titled()
	err := c.root.End(status, why)
	if errors.Is(err, record.ErrEnded) { // a stop has ended it
		<-c.root.Done()
		err = nil
	}
	taskt.Leave(c.opts.Tasks, c.root.ID())
	record := c.root.Record()
	if c.agent == c.as && record.Agent != c.as.Name { // it had gone on as another agent
		if def, err := Find(c.opts.Agents.Snapshot(), record.Agent); err == nil {
			c.agent = def
		}
	}
	c.resumes, c.root = &record, nil
	return err
}

// Send sends the agent a message of who has begun the conversation, while it works.
func (c *Conversation) Send(text string) error {
	c.mu.Lock()
	root := c.root
	c.mu.Unlock()
	if root == nil {
		return errors.New("nothing runs")
	}
	return root.Send(requests.SendRequest{SessionID: root.ID(), MessageID: record.NewID("msg"), Text: text, By: c.opts.AskedBy})
}

// SetModel has the next prompt go to another model; empty means that of the agent.
func (c *Conversation) SetModel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = c.stale || name != c.model
	c.model = name
}

// SetAgent has the next prompt go to another agent. What has been said is held to the
// rules of those before, too.
func (c *Conversation) SetAgent(def *agentdefs.Definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = c.stale || def != c.agent
	c.agent = def
}

// Agent returns the agent of the next prompt.
func (c *Conversation) Agent() *agentdefs.Definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent
}

// Model returns the model that was set; empty means the agent's. live is the model of the session;
// empty means the next prompt opens another session.
func (c *Conversation) Model() (set, live string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != nil && !c.stale {
		live = c.root.Record().Model
	}
	return c.model, live
}

// End ends the conversation when its turn has ended.
func (c *Conversation) End() error {
	status, why := record.Completed, error(nil)
	if c.ctx.Err() != nil {
		status, why = record.Cancelled, context.Cause(c.ctx)
	}
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.turns.Wait()
	return c.endSession(status, why)
}

// Last returns the id of the newest session that has ended; empty means none has.
func (c *Conversation) Last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resumes == nil {
		return ""
	}
	return c.resumes.ID
}

// FirstWords describes a prompt in a few words.
func FirstWords(prompt string) string {
	words := strings.Fields(prompt)
	if len(words) <= 8 {
		return strings.Join(words, " ")
	}
	return strings.Join(words[:8], " ") + " …"
}
