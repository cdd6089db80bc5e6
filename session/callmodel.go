package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/store"
)

// answer is what the model says in one call.
type answer struct {
	id      string
	final   bool // no tools can be called any more
	message model.Message
	stop    model.StopReason
	usage   model.Usage
	text    strings.Builder
	shown   masking.Deltas // of it
}

// callContext is the context of a turn with the deadline of a model call, whose
// end ends the turn.
type callContext struct {
	context.Context
	deadline time.Time
}

// Deadline implements [context.Context].
func (c *callContext) Deadline() (time.Time, bool) {
	if at, ok := c.Context.Deadline(); ok && at.Before(c.deadline) {
		return at, true
	}
	return c.deadline, true
}

// callOnce makes one call, and publishes the message as it arrives.
func (t *Turn) callOnce(step context.Context, a *answer) error {
	req := t.s.request(a.final)
	reserved, err := t.s.reserve(step, t.s.model, req)
	if err == nil {
		err = t.stream(step, req, a)
		t.s.settle(reserved, &a.usage, err)
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(t.Context()); cause != nil {
		return cause
	}
	return err
}

func (t *Turn) stream(step context.Context, req *model.Request, a *answer) error {
	ctx := t.limited(step)
	defer t.callTimer.Stop()
	for part, err := range t.s.model.Stream(ctx, req) {
		if err != nil {
			a.shown.End(a.id, t.s.publish)
			return err
		}
		t.s.take(part, a)
	}
	a.shown.End(a.id, t.s.publish)
	return t.s.complete(a)
}

// limited returns the context of a model call, and starts its timer.
func (t *Turn) limited(step context.Context) context.Context {
	limit := t.s.m.limits.ModelCall
	if t.callTimer == nil {
		t.callTimer = time.AfterFunc(limit, t.callOver)
	} else {
		t.callTimer.Reset(limit)
	}
	return &callContext{step, time.Now().Add(limit)}
}

// callOver ends the turn, as its model call has taken too long.
func (t *Turn) callOver() {
	t.bond.Cancel(&model.Error{
		Model: t.s.model.Name(), Kind: model.ErrTimeout, Message: fmt.Sprintf("no complete answer within %s", errtext.Duration(t.s.m.limits.ModelCall)),
	})
}

func (s *Session) request(final bool) *model.Request {
	return &model.Request{
		System:      s.system,
		Messages:    s.messages,
		Tools:       s.offered(),
		NoToolCalls: final,
		Path:        s.path.IDs(),
		Params:      s.params,
	}
}

// take takes a part of an answer.
func (s *Session) take(part model.Part, a *answer) {
	switch part := part.(type) {
	case model.Retry:
		s.publish(event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{
			Reason: string(part.Reason), Try: part.Try, Tries: part.Tries, DelayMs: part.Wait.Milliseconds(),
		}})
	case model.TextDelta:
		a.text.WriteString(part.Text)
		if ev, ok := a.shown.Text(a.id, part.Text); ok {
			s.publish(ev)
		}
	case model.ReasoningDelta:
		if ev, ok := a.shown.Reasoning(a.id, part.Text); ok {
			s.publish(ev)
		}
	case model.Reasoning:
		a.message.Reasoning = append(a.message.Reasoning, part)
	case model.ToolCall:
		a.message.ToolCalls = append(a.message.ToolCalls, s.named(part))
	case model.Usage:
		a.usage = s.m.models.Priced(s.model, part)
	case model.Stop:
		a.stop = part.Reason
	}
}

// complete adds an answer to the conversation.
func (s *Session) complete(a *answer) error {
	if a.stop == "" {
		return &model.Error{Model: s.model.Name(), Kind: model.ErrProtocol, Message: "the answer ended without a stop reason"}
	}
	a.message.Role, a.message.Text = model.Assistant, a.text.String()
	if a.final {
		a.message.ToolCalls = nil // none was to be made, and none will be answered
	}
	s.messages = append(s.messages, a.message)
	if entry, needed := store.SaidEntry(a.id, &a.message, a.shown.Masks()); needed {
		s.append(entry)
	}
	s.counted = conversation.Counted{Messages: len(s.messages), Tokens: a.usage.InputTokens + a.usage.OutputTokens}
	return s.used(a.usage) // completes the message in the log
}

// used notes a model call and what it has used.
func (s *Session) used(u model.Usage) error {
	s.m.totals.add(u)
	s.publish(event.Usage(u))
	return s.change(func(r *store.Record) error {
		r.Steps++
		r.Usage = r.Usage.Add(u)
		return nil
	})
}

// callModel asks the model for the next message. A provider that is to be asked again
// later pauses the session until then, and all others of the process on that account.
func (t *Turn) callModel(step context.Context, a *answer) error {
	var paused time.Duration
	for {
		if err := t.waitOpen(step, &paused); err != nil {
			return err
		}
		err := t.callOnce(step, a)
		if err == nil || !t.pauseAfter(step, err, paused) {
			return err
		}
	}
}

// waitOpen waits until the model may be asked. paused is how long the session has waited
// for that in this call, with what follows.
func (t *Turn) waitOpen(step context.Context, paused *time.Duration) error {
	s := t.s
	for {
		found, closed := s.m.models.Paused(s.model)
		if !closed {
			return nil
		}
		wait := time.Until(found.Until)
		if *paused += wait; *paused > s.m.limits.Pause {
			return fmt.Errorf("%s (a pause of more than %s is not waited for: --max-pause)", found.Why, errtext.Duration(s.m.limits.Pause))
		}
		if err := t.pause(step, wait+models.Jitter(wait), found.Why); err != nil {
			return err
		}
	}
}

// pauseAfter begins the pause after which the model may be asked again, and reports whether
// there is one after this error.
func (t *Turn) pauseAfter(step context.Context, err error, paused time.Duration) bool {
	s := t.s
	wait := models.PauseFor(err)
	if wait == 0 || wait > s.m.limits.Pause-paused || step.Err() != nil {
		return false
	}
	s.m.models.Pause(s.model, models.Pause{Until: time.Now().Add(wait), Why: errtext.Of(err)})
	return true
}

// pause has the session wait. Meanwhile its time stands still.
func (t *Turn) pause(step context.Context, wait time.Duration, why string) error {
	s := t.s
	defer s.HoldTime()()
	until := time.Now().Add(wait).UTC()
	s.setPause(&store.Pause{Until: until, Reason: why})
	s.publish(event.StatusChange{Status: event.StatusPaused, Pause: &event.Pause{Until: until, Reason: why}})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-step.Done():
		err = context.Cause(step)
	}
	s.setPause(nil)
	s.publish(event.StatusChange{Status: event.StatusStreaming})
	return err
}

func (s *Session) setPause(p *store.Pause) {
	s.note(s.change(func(r *store.Record) error {
		r.Pause = p
		return nil
	}))
}
