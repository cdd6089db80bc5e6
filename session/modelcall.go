package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/record"
)

// answer is what the model says in one call.
type answer struct {
	id      string
	final   bool // no tools can be called any more
	most    int  // tokens that it may have, as its request says; 0 means that it does not
	message model.Message
	stop    model.StopReason
	usage   model.Usage
	text    strings.Builder
	shown   masking.Deltas // of the text
}

// modelCall makes the calls of a turn's model, one at a time. It waits while the provider has to
// be spared, publishes the answer as it arrives, and adds it to the conversation.
type modelCall struct {
	s    *Session
	bond *lifetime.Bond // of the turn
}

// ask asks the model for the next message. If the provider names a time for the next try, the
// session pauses until then, like all others of the process on that account. An answer that
// failed for a short time begins anew: no tool of it has run.
func (c *modelCall) ask(step context.Context, a *answer) error {
	var paused time.Duration
	for try := 1; ; {
		if err := c.waitOpen(step, &paused); err != nil {
			return err
		}
		err := c.once(step, a)
		switch {
		case err == nil:
			return nil
		case c.pauseAfter(step, err, paused):
			if a.text.Len() > 0 {
				c.drop(a, event.Retry{Reason: reasonOf(err), Try: try + 1, Tries: c.s.p.limits.Retries + 1})
			}
		case try <= c.s.p.limits.Retries && models.Transient(err) && models.PauseFor(err) == 0 && step.Err() == nil:
			wait := models.Backoff(try)
			try++
			c.drop(a, event.Retry{Reason: reasonOf(err), Try: try, Tries: c.s.p.limits.Retries + 1, DelayMs: wait.Milliseconds()})
			if err := c.rest(step, wait); err != nil {
				return err
			}
		case c.failOver(step, a, err):
			try, paused = 1, 0
		default:
			return err
		}
		*a = answer{id: record.NewID("msg"), final: a.final}
	}
}

func reasonOf(err error) string {
	if known, ok := errors.AsType[*model.Error](err); ok {
		return string(known.Kind)
	}
	return string(model.ErrUnavailable)
}

// drop says that what was shown of an answer does not count.
func (c *modelCall) drop(a *answer, retry event.Retry) {
	c.s.log.Publish(event.ModelRetry{MessageID: a.id, Retry: retry})
}

// rest waits for the next try. Meanwhile the session's time stands still.
func (c *modelCall) rest(step context.Context, wait time.Duration) error {
	defer c.s.life.Hold()()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-step.Done():
		return context.Cause(step)
	}
}

// waitOpen waits until the model may be asked. It adds the wait to paused, the sum of what
// this answer has waited.
func (c *modelCall) waitOpen(step context.Context, paused *time.Duration) error {
	s := c.s
	for {
		found, closed := s.p.models.Paused(s.agent.model)
		if !closed {
			return nil
		}
		wait := time.Until(found.Until)
		if *paused += wait; *paused > s.p.limits.Pause {
			return fmt.Errorf("%s (a pause of more than %s is not waited for: --max-pause)", found.Why, errtext.Duration(s.p.limits.Pause))
		}
		if err := c.pause(step, wait+models.Jitter(wait), found.Why); err != nil {
			return err
		}
	}
}

// pauseAfter begins the pause after which the model may be asked again, and reports whether
// there is one after this error.
func (c *modelCall) pauseAfter(step context.Context, err error, paused time.Duration) bool {
	s := c.s
	wait := models.PauseFor(err)
	if wait == 0 || wait > s.p.limits.Pause-paused || step.Err() != nil {
		return false
	}
	s.p.models.Pause(s.agent.model, models.Pause{Until: time.Now().Add(wait), Why: errtext.Of(err)})
	return true
}

// pause has the session wait. Meanwhile its time stands still.
func (c *modelCall) pause(step context.Context, wait time.Duration, why string) error {
	log := c.s.log
	defer c.s.life.Hold()()
	until := time.Now().Add(wait).UTC()
	_ = log.Set(func(r *record.Record) { r.Pause = &record.Pause{Until: until, Reason: why} })
	log.Publish(event.StatusChange{Status: event.StatusPaused, Pause: &event.Pause{Until: until, Reason: why}})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-step.Done():
		err = context.Cause(step)
	}
	_ = log.Set(func(r *record.Record) { r.Pause = nil })
	log.Publish(event.StatusChange{Status: event.StatusStreaming})
	return err
}

// once makes one call.
func (c *modelCall) once(step context.Context, a *answer) error {
	s := c.s
	req := &model.Request{
		System:      s.agent.system,
		Messages:    c.messages(step),
		Tools:       c.offered(),
		NoToolCalls: a.final,
		Path:        s.path.IDs(),
		Agent:       s.Agent(),
		Params:      s.agent.params,
	}
	prompt := s.talk.Estimate(req)
	req.LongestAnswer = s.p.models.LongestAnswer(s.agent.model, s.agent.room(s.p.window), prompt)
	reserved, err := s.usage.reserve(step, s.agent.model, req, prompt)
	if a.most = req.MaxOutputTokens; err == nil {
		err = c.stream(step, req, a)
		s.usage.settle(reserved, &a.usage, err)
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(c.bond.Context()); cause != nil {
		return cause
	}
	return err
}

// messages returns the conversation with the bytes of its images, for a model that takes them.
func (c *modelCall) messages(ctx context.Context) []model.Message {
	s, blind := c.s, ""
	if !s.p.models.Sees(s.agent.model) {
		blind = conversation.Blind
	}
	return conversation.WithImages(s.talk.Messages, blind, func(i model.Image) ([]byte, error) {
		return s.p.Bus.Payload(ctx, eventbus.PayloadOf(s.p.Bus, i.SessionID, i.SHA256))
	})
}

func (c *modelCall) stream(step context.Context, req *model.Request, a *answer) error {
	for part, err := range c.s.p.limits.ofModel(c.s.agent.model, c.s.hidden).Stream(step, c.s.agent.model, req) {
		if err != nil {
			a.shown.End(a.id, c.s.log.Publish)
			return err
		}
		c.receive(part, a)
	}
	a.shown.End(a.id, c.s.log.Publish)
	return c.complete(a)
}

// receive adds a part to an answer.
func (c *modelCall) receive(part model.Part, a *answer) {
	s := c.s
	switch part := part.(type) {
	case model.Retry:
		s.log.Publish(event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{
			Reason: string(part.Reason), Try: part.Try, Tries: part.Tries, DelayMs: part.Wait.Milliseconds(),
		}})
	case model.TextDelta:
		a.text.WriteString(part.Text)
		if ev, ok := a.shown.Text(a.id, part.Text); ok {
			s.log.Publish(ev)
		}
	case model.TextWasReasoning:
		c.think(a)
	case model.ReasoningDelta:
		if ev, ok := a.shown.Reasoning(a.id, part.Text); ok {
			s.log.Publish(ev)
		}
	case model.Reasoning:
		a.message.Reasoning = append(a.message.Reasoning, part)
	case model.ToolCall:
		part.Name = model.MeantTool(part.Name, func(name string) bool { return s.calls.Tools.Get(name) != nil })
		a.message.ToolCalls = append(a.message.ToolCalls, s.talk.Identify(part, func() string { return record.NewID("call") }))
	case model.Usage:
		a.usage = s.p.models.Priced(s.agent.model, part)
	case model.Stop:
		a.stop = part.Reason
	}
}

// think makes what was shown of an answer the model's thinking, in another message.
func (c *modelCall) think(a *answer) {
	text := a.text.String()
	a.shown.End(a.id, c.s.log.Publish)
	c.drop(a, event.Retry{Reason: event.RetryReasoning})
	*a = answer{id: record.NewID("msg"), final: a.final, message: a.message}
	if ev, ok := a.shown.Reasoning(a.id, text); ok {
		c.s.log.Publish(ev)
	}
}

// complete adds an answer to the conversation.
func (c *modelCall) complete(a *answer) error {
	s := c.s
	if a.stop == "" {
		return &model.Error{Model: s.agent.model.Name(), Kind: model.ErrProtocol, Incomplete: true, Message: "the answer ended without a stop reason"}
	}
	a.message.Role, a.message.Text = model.Assistant, a.text.String()
	if a.final {
		a.message.ToolCalls = nil // none was to be made, and none will be answered
	}
	s.talk.Answer(a.message, a.usage.InputTokens+a.usage.OutputTokens)
	if entry, needed := log.ReplyEntry(a.id, &a.message, a.shown.Masks()); needed {
		s.log.Append(entry)
	}
	return s.usage.add(a.usage) // completes the message in the log
}

// offered returns the tools of the next request.
func (c *modelCall) offered() []model.ToolSpec {
	s := c.s
	return s.talk.Offer(func() []model.ToolSpec {
		trained := s.p.trained != nil && s.p.trained(s.agent.model.Name())
		return s.calls.Tools.Declared(s.calls.Rules.Agents(), trained, s.agent.room(s.p.window), s.talk.Messages)
	})
}

// failOver has the next model of the session's list answer, since the one before has failed. It
// reports whether there is one.
func (c *modelCall) failOver(step context.Context, a *answer, failed error) bool {
	s := c.s
	if step.Err() != nil || !models.FailsOver(failed) {
		return false
	}
	before := s.agent.model
	s.p.models.Cool(before, failed)
	pass := func(name string, err error) {
		s.log.Warn(fmt.Sprintf("the model %.200q is not used: %s", name, errtext.Of(err)))
	}
	for {
		next, rest := s.p.models.First(s.Agent(), s.agent.rest, pass)
		if next == nil && !s.agent.replaced && models.Unknown(failed) {
			if next, rest = c.replacement(before, failed, pass); next == nil {
				return false
			}
		}
		s.agent.mu.Lock()
		s.agent.rest = rest
		s.agent.mu.Unlock()
		switch {
		case next == nil:
			return false
		case next.Name() != before.Name():
			return c.switchTo(next, a, failed)
		}
	}
}

// replacement returns the default model, and the names after it, where a provider does not know a
// model. nil means there is none.
func (c *modelCall) replacement(unknown model.Model, failed error, pass func(name string, err error)) (next model.Model, rest []string) {
	s := c.s
	s.agent.replaced = true
	names := s.p.models.Defaults
	if len(names) == 0 {
		names = []string{""}
	}
	ignore := func(string, error) {} // the failure of the unknown model counts
	if next, rest = s.p.models.First(s.Agent(), names, ignore); next == nil || next.Name() == unknown.Name() {
		return nil, nil
	}
	pass(unknown.Name(), fmt.Errorf("%s; %s answers instead", errtext.Of(failed), next.Name()))
	return next, rest
}

// switchTo has another model answer, since the one before has failed. It reports whether it does.
func (c *modelCall) switchTo(next model.Model, a *answer, failed error) bool {
	s := c.s
	before := s.agent.model
	if a.text.Len() > 0 {
		c.drop(a, event.Retry{Reason: reasonOf(failed)})
	}
	s.agent.mu.Lock()
	s.agent.model, s.agent.window = next, 0
	s.agent.mu.Unlock()
	s.talk.ChangeModel(true)
	s.log.Append(log.ModelEntry(next.Name()))
	s.log.Publish(event.ModelSwitched{From: before.Name(), To: next.Name(), Reason: errtext.Of(failed)})
	return s.log.Set(func(r *record.Record) { r.Model = next.Name() }) == nil
}
