package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/record"
)

// Prompt gives the session a prompt, with what is attached to it, and runs the loop until the model
// has answered. It blocks until everything it started has ended. It fails if the session has no
// model or has ended.
func (s *Session) Prompt(ctx context.Context, prompt string, attached ...picture.Attachment) Outcome {
	return *s.newTurn(ctx, prompt, attached, nil).run()
}

// start does what comes before the first model call, and starts the clock. run does it if
// nobody has.
func (t *turn) start() {
	s := t.s
	t.started = true
	t.inTime = s.usage.stopInTime(t.bond.Cancel)
	s.life.StartTurn(t.bond.Cancel, s.agent.timeLimit, t.done().worked, t.watch())
	t.err = t.open()
}

func (t *turn) open() error {
	s := t.s
	if s.caller {
		return errors.New("this session has no model of its own")
	}
	if err := t.context().Err(); err != nil {
		return err
	}
	if err := s.log.Become(record.Running); err != nil {
		return err
	}
	if t.before != nil {
		t.resume()
		return nil
	}
	resident, err := t.openResident()
	if err != nil {
		return err
	}
	added, err := t.hooked()
	if err != nil {
		return err
	}
	images, err := t.openAttachments()
	if err != nil {
		return err
	}
	s.talk.BeginTask()
	if s.parent == nil || s.parent.caller {
		s.calls.Task.Begin(t.prompt)
	}
	t.read([]inbox.Message{{ID: cmp.Or(s.first.id, record.NewID("msg")), Text: resident + s.usage.prompt(t.prompt) + added, Images: images}})
	s.first.id = ""
	t.announce()
	return nil
}

// run runs the loop, as [Session.Prompt] does. Its frames are small, like those of all that it
// calls up to the model's answer: thousands of turns may wait there, each with the stack of a
// goroutine.
func (t *turn) run() *Outcome {
	defer t.release()
	if t.s.lasting { // whoever stops it waits for the turn
		if err := t.s.enterCall(); err != nil {
			t.end("", err)
			return &t.out
		}
		defer t.s.life.EndCall()
	}
	if !t.started {
		t.start()
	}
	defer t.stopClocks()
	if t.err != nil {
		t.end("", t.err)
	} else {
		t.end(t.loop())
	}
	return &t.out
}

func (t *turn) stopClocks() {
	t.inTime()
	t.s.life.EndTurn()
}

// end notes how the turn has ended.
func (t *turn) end(text string, err error) {
	t.out = Outcome{Status: record.Completed, Text: text, Earlier: t.earlier, Stop: t.stop, Reason: event.StopAnswered}
	out := &t.out
	if err == nil {
		switch {
		case t.final:
			out.Reason = event.StopSteps
		case t.stop == model.StopMaxTokens:
			out.Reason = event.StopLength
		}
		t.s.log.Answered(out.Reason)
		return
	}
	t.s.log.Answered("")
	out.Status, out.Text, out.Err = record.Failed, "", err
	if t.context().Err() != nil {
		out.Err = context.Cause(t.context())
		switch {
		case errors.As(out.Err, new(*lifetime.TimeLimitError)), errors.As(out.Err, new(*lifetime.StalledError)):
			out.Status = record.TimedOut
			if bus := t.s.p.Bus; bus.Health().Stopped {
				out.Err = fmt.Errorf("%w%s", out.Err, bus.Health().Diagnosis)
			}
		case out.Err == context.Canceled: // without a reason
			out.Status, out.Err = record.Cancelled, errors.New("the task was cancelled")
		case errors.Is(out.Err, context.Canceled):
			out.Status, out.Err = record.Cancelled, fmt.Errorf("the task was cancelled: %w", out.Err)
		}
	}
	if broken := t.s.log.Err(); broken != nil {
		out.Status, out.Err = record.Failed, broken
	}
	out.Reason = record.StopReason(out.Status, out.Err, "")
	out.Partial = t.partial
}
