package toolcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
)

// Hooks are people's hooks around the life of a session: its start, its prompts and its end.
// Those around its calls of tools are run by [Calls.Make].
type Hooks struct{ s *Calls }

// HooksOf returns the hooks around the life of the session of some calls.
func HooksOf(s *Calls) Hooks { return Hooks{s} }

// sub reports whether another session is above this one.
func (h Hooks) sub() bool { return len(h.s.log.Path) > 1 }

// call is what hooks learn of an event of the session.
func (h Hooks) call(e hookconfig.Event) hooks.Call {
	r := h.s.log.Record()
	c := hooks.Call{Event: e, SessionID: h.s.log.Path[0].SessionID, Cwd: h.s.Paths.Root, Traceparent: r.Traceparent, Hooks: h.s.AgentHooks}
	if h.sub() {
		c.AgentID, c.AgentType = h.s.log.ID, r.Agent
	}
	return c
}

// run runs the hooks of an event, and waits for them.
func (h Hooks) run(ctx context.Context, e hookconfig.Event, set func(*hooks.Call)) hooks.Outcome {
	if h.s.p.Hooks == nil {
		return hooks.Outcome{}
	}
	c := h.call(e)
	set(&c)
	return h.s.p.Hooks.Run(ctx, c)
}

// Start tells the hooks that the session begins its first turn, and returns what they add to its
// prompt.
func (h Hooks) Start(ctx context.Context, prompt, model string) (added string) {
	if h.sub() {
		return hooks.Added(h.run(ctx, hookconfig.SubagentStart, func(*hooks.Call) {}).Context)
	}
	return hooks.Added(h.run(ctx, hookconfig.SessionStart, h.started(prompt, model)).Context)
}

// StartCaller tells the hooks that the session of a caller begins. Nobody waits for them, as no
// model reads what they say.
func (h Hooks) StartCaller() {
	if h.s.p.Hooks == nil || h.sub() {
		return
	}
	c := h.call(hookconfig.SessionStart)
	h.started("", "")(&c)
	h.s.p.Hooks.Go(c)
}

func (h Hooks) started(prompt, model string) func(*hooks.Call) {
	return func(c *hooks.Call) {
		c.Source, c.Prompt, c.Model = "startup", prompt, model
		if r := h.s.log.Record(); r.Resumes != "" || r.Takeovers > 0 {
			c.Source = "resume"
		}
	}
}

// Prompt has the hooks judge what a person writes to a session without a parent. It returns what they
// add, or the error of one that denies it.
func (h Hooks) Prompt(ctx context.Context, prompt string) (added string, err error) {
	if h.sub() {
		return "", nil
	}
	out := h.run(ctx, hookconfig.UserPromptSubmit, func(c *hooks.Call) { c.Prompt = prompt })
	if out.Deny != nil {
		return "", fmt.Errorf("the prompt is denied by the %s", out.Deny.Because())
	}
	return hooks.Added(out.Context), nil
}

// Stop asks the hooks whether the session's agent is done with an answer. What it has to do first
// is goOn, as the model reads it; empty means it is done. again says that the answer
// comes after such words.
func (h Hooks) Stop(ctx context.Context, answer string, again bool) (goOn string) {
	event := hookconfig.Stop
	if h.sub() {
		event = hookconfig.SubagentStop
	}
	out := h.run(ctx, event, func(c *hooks.Call) { c.Answer, c.Active = answer, again })
	if out.Deny == nil || out.Deny.Text == "" {
		return ""
	}
	return "You are not done yet." + hooks.Added(append([]hooks.Voice{*out.Deny}, out.Context...))
}

// Compact asks the hooks whether the conversation may be compacted now.
func (h Hooks) Compact(ctx context.Context) error {
	out := h.run(ctx, hookconfig.PreCompact, func(c *hooks.Call) { c.Trigger = "auto" })
	if out.Deny != nil {
		return errors.New(out.Deny.Because())
	}
	return nil
}

// atEnd bounds how long the end of a session waits for hooks.
const atEnd = 5 * time.Second

// End tells the hooks that a session without a parent has ended. It waits for them.
func (h Hooks) End(status string) {
	if h.sub() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), atEnd)
	defer cancel()
	h.run(ctx, hookconfig.SessionEnd, func(c *hooks.Call) { c.Reason = status })
}

// Asked tells the hooks that a question waits for a person. Nobody waits for them.
func (h Hooks) Asked(title string) {
	if h.s.p.Hooks == nil {
		return
	}
	c := h.call(hookconfig.Notification)
	c.Kind, c.Title, c.Message = "permission_prompt", "A question waits for an answer", title
	h.s.p.Hooks.Go(c)
}

// asked is a question in a line.
func asked(a *approval.Approval) string {
	if a.Ask != nil {
		return termtext.OneLine(a.Ask.Question, termtext.MaxTitle)
	}
	return a.Question.Title
}
