package session

import (
	"context"
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool"
)

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

// Describe implements [tool.Tool].
func (rejoined) Describe(*tool.Call) tool.Description { return tool.Description{} }

// Run implements [tool.Tool].
func (r rejoined) Run(ctx context.Context, call *tool.Call) (tool.Result, error) { return r(ctx, call) }

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
		all[i] = s.calls.CutOff(c, step.MessageID, step.Results[i], t.before.calls[c.ID], log.Repeat)
	}
	return t.act(ctx, all, step.MessageID, t.before.steps)
}
