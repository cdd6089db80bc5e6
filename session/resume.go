package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool"
)

// Resumed is a session whose conversation another one resumes. In a [Spec] with Claimed it is
// the session itself.
type Resumed struct {
	ID       string
	Path     event.Path       // its own: whoever has asked for it has asked for the new one, too
	Model    string           // the name of the model that has run it
	Messages []*store.Message // its conversation, with an outcome for each call

	// MessageID is the id of the first prompt, which [Session.Send] then ignores; empty means
	// a new one.
	MessageID string

	// Within are rulesets of its ancestors that the new one may lack. Before is its own; nil
	// means none.
	Within []*permission.Ruleset
	Before *permission.Ruleset
}

// begin gives a session the conversation that it resumes, with the index of its task.
func (r *Resumed) begin(s *Session, task int) {
	if s.first.id = r.MessageID; s.first.id != "" {
		s.inbox.Know([]string{s.first.id}, nil)
	}
	messages := make([]model.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = m.Message
	}
	s.talk.Resume(messages, task, nil, r.Model != s.agent.model.Name())
}

// before is what was done of a session before this process claimed it.
type before struct {
	steps  int
	worked time.Duration
	answer *string     // the result of its turn; nil means that the turn goes on
	step   *store.Step // in which it was cut off; nil means in none

	calls map[string]tool.Tool // the rest of calls of that step, by their ids: they are not made anew
}

// Rejoin has a call go on where it was, of the step in which a claimed session was cut off: run
// does the rest of it, without another decision. Other calls of the step without an outcome are
// made anew if their tool delegates; else their outcome is an error. Rejoin is called before the
// session goes on.
func (s *Session) Rejoin(callID string, run func(ctx context.Context, call *tool.Call) (tool.Result, error)) {
	if s.before.calls == nil {
		s.before.calls = make(map[string]tool.Tool)
	}
	s.before.calls[callID] = rejoined(run)
}

// rejoined is the tool of a call that goes on where it was.
type rejoined func(ctx context.Context, call *tool.Call) (tool.Result, error)

// Spec implements [tool.Tool].
func (rejoined) Spec() tool.Spec {
	return tool.Spec{ReadOnly: true, Delegates: true, OwnTimeLimit: true}
}

// Values implements [tool.Tool].
func (rejoined) Values(json.RawMessage) ([]permission.Value, error) { return nil, nil }

// Run implements [tool.Tool].
func (r rejoined) Run(ctx context.Context, call *tool.Call) (tool.Result, error) { return r(ctx, call) }

// done is what was done of the turn before it came to this process.
func (t *turn) done() before {
	if t.before == nil {
		return before{}
	}
	return *t.before
}

// resume does what comes before the first model call of a turn that goes on.
func (t *turn) resume() {
	done := t.done()
	if done.answer != nil || done.step != nil {
		return
	}
	if done.steps >= t.s.agent.maxSteps {
		t.tell(concludeNow)
	}
	t.announce()
}

// finishStep does what is left of the step in which the session was cut off.
func (t *turn) finishStep() error {
	s, step := t.s, t.before.step
	ctx, end := s.inbox.ResumeStep(t.context())
	defer end()
	s.log.Status(event.StatusExecutingTool)
	t.call.offered() // a fork of the conversation begins with these
	all := make([]*toolcall.Call, len(step.Calls))
	for i, c := range step.Calls {
		all[i] = s.calls.CutOff(c, step.MessageID, step.Results[i], t.before.calls[c.ID], store.Repeat)
	}
	return t.act(ctx, all, step.MessageID, t.before.steps)
}
