package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
)

// maxParallelCalls bounds the tool calls of one step that run at once.
const maxParallelCalls = 16

// concludeNow is what the model reads when its steps are used up.
const concludeNow = "You have used all of your steps, and no tool can be called any more. " +
	"Conclude now: give your answer with what you have found, and say what is left open."

// maxCorrections is how often the model may answer again in a turn after an
// answer that was not accepted.
const maxCorrections = 2

// answerAgain is what the model reads after such an answer.
const answerAgain = "Your answer is not accepted: %v\nAnswer again, with the corrected answer alone."

// UnacceptedError tells that a turn ended with an answer that [Spec.Accept] did
// not take.
type UnacceptedError struct {
	Answer string // the last one, as the model gave it
	Err    error  // of Accept
}

func (e *UnacceptedError) Error() string { return e.Err.Error() }
func (e *UnacceptedError) Unwrap() error { return e.Err }

// Outcome is how a turn of a session ended.
type Outcome struct {
	Status Status // Completed, Failed, Cancelled or TimedOut
	Text   string // the answer; empty unless Completed
	Err    error  // why; nil if Completed
}

// Prompt gives the session a prompt and runs the loop until the model has
// answered. It blocks until everything it started has ended. A session that
// has no model, or has ended, fails.
func (s *Session) Prompt(ctx context.Context, prompt string) Outcome {
	ctx, release := s.Bound(ctx)
	defer release()
	ctx, clock := startClock(ctx, s.timeLimit)
	defer clock.stop()
	s.mu.Lock()
	s.clock = clock
	s.mu.Unlock()

	text, err := s.guardedTurn(ctx, prompt)
	if err == nil {
		return Outcome{Status: Completed, Text: text}
	}
	out := Outcome{Status: Failed, Err: err}
	var limit *TimeLimitError
	if ctx.Err() != nil {
		out.Err = context.Cause(ctx)
		switch {
		case errors.As(out.Err, &limit):
			out.Status = TimedOut
		case out.Err == context.Canceled: // without a reason
			out.Status, out.Err = Cancelled, errors.New("the task was cancelled")
		case errors.Is(out.Err, context.Canceled):
			out.Status, out.Err = Cancelled, fmt.Errorf("the task was cancelled: %w", out.Err)
		}
	}
	if broken := s.brokenBy(); broken != nil {
		out = Outcome{Status: Failed, Err: broken}
	}
	return out
}

// guardedTurn makes a panic an error of the turn, so that the session is ended
// like any other.
func (s *Session) guardedTurn(ctx context.Context, prompt string) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.m.log.Error("a turn panicked", "session", s.id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return s.turn(ctx, prompt)
}

// turn is the loop.
func (s *Session) turn(ctx context.Context, prompt string) (string, error) {
	if s.agent == "" {
		return "", errors.New("this session has no model of its own")
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := s.become(Running, nil); err != nil {
		return "", err
	}
	if err := s.remember(newID("msg"), model.Message{Role: model.User, Text: prompt}); err != nil {
		return "", err
	}
	corrections := 0
	for step := 1; ; step++ {
		final := step > s.maxSteps
		messageID, answer, stop, err := s.callModel(ctx, final)
		if err != nil {
			return "", err
		}
		if len(answer.ToolCalls) == 0 || final {
			text, err := s.conclude(answer.Text, stop)
			if unaccepted, ok := errors.AsType[*UnacceptedError](err); ok && !final && corrections < maxCorrections {
				corrections++
				correction := model.Message{Role: model.User, Text: fmt.Sprintf(answerAgain, unaccepted)}
				if err := cmp.Or(s.remember(newID("msg"), correction), ctx.Err()); err != nil {
					return "", err
				}
				continue
			}
			if err != nil {
				return "", err
			}
			s.status(event.StatusIdle)
			s.publish(event.TurnComplete{Message: event.TurnMessage{ID: messageID, Text: text}})
			return text, s.brokenBy()
		}
		s.status(event.StatusExecutingTool)
		results := s.invokeAll(ctx, answer.ToolCalls, messageID, step)
		message := model.Message{Role: model.User, ToolResults: results}
		if step == s.maxSteps {
			message.Text = concludeNow
		}
		if err := cmp.Or(s.remember(newID("msg"), message), ctx.Err()); err != nil {
			return "", err
		}
	}
}

// conclude makes the result of the model's last message.
func (s *Session) conclude(text string, stop model.StopReason) (string, error) {
	switch {
	case stop == model.StopRefusal:
		return "", fmt.Errorf("the model refused to answer: %s", strings.TrimSpace(text))
	case s.accept != nil && stop == model.StopMaxTokens:
		return "", &UnacceptedError{Answer: text, Err: errors.New("it was cut off at the model's output limit")}
	case s.accept != nil:
		result, err := s.accept(text)
		if err != nil {
			return "", &UnacceptedError{Answer: text, Err: err}
		}
		return result, nil
	case strings.TrimSpace(text) == "":
		return "", errors.New("the agent ended without an answer")
	case stop == model.StopMaxTokens:
		return text + "\n\n[The answer was cut off here: it reached the model's output limit.]", nil
	default:
		return text, nil
	}
}

// callModel asks the model for the next message, publishes it as it arrives,
// and stores it.
func (s *Session) callModel(ctx context.Context, final bool) (id string, answer model.Message, stop model.StopReason, err error) {
	limit := s.m.limits.ModelCall
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &model.Error{
		Model: s.model.Name(), Kind: model.ErrTimeout, Message: fmt.Sprintf("no complete answer within %s", errtext.Duration(limit)),
	})
	defer cancel()
	s.status(event.StatusStreaming)

	id = newID("msg")
	answer.Role = model.Assistant
	var text, reasoning strings.Builder
	var usage model.Usage
	for part, err := range s.model.Stream(ctx, &model.Request{
		System:      s.system,
		Messages:    s.messages,
		Tools:       s.offeredTools(),
		NoToolCalls: final,
		Path:        s.path.IDs(),
		Params:      s.params,
	}) {
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return id, answer, stop, err
		}
		switch part := part.(type) {
		case model.Retry:
			s.publish(event.StatusChange{Status: event.StatusStreaming, Retry: &event.Retry{
				Reason: string(part.Reason), Try: part.Try, Tries: part.Tries, DelayMs: part.Wait.Milliseconds(),
			}})
		case model.TextDelta:
			s.publish(event.ContentDelta{MessageID: id, Delta: part.Text, Offset: text.Len()})
			text.WriteString(part.Text)
		case model.ReasoningDelta:
			s.publish(event.ReasoningDelta{MessageID: id, Delta: part.Text, Offset: reasoning.Len()})
			reasoning.WriteString(part.Text)
		case model.Reasoning:
			answer.Reasoning = append(answer.Reasoning, part)
		case model.ToolCall:
			answer.ToolCalls = append(answer.ToolCalls, s.named(part))
		case model.Usage:
			usage = part
		case model.Stop:
			stop = part.Reason
		}
	}
	if stop == "" {
		return id, answer, stop, &model.Error{Model: s.model.Name(), Kind: model.ErrProtocol, Message: "the answer ended without a stop reason"}
	}
	answer.Text = text.String()
	if final {
		answer.ToolCalls = nil // none was to be made, and none will be answered
	}
	s.publish(event.Usage(usage))
	err = s.change(func(r *Record) error {
		r.Steps++
		r.Usage = r.Usage.Add(usage)
		return nil
	})
	if err != nil {
		return id, answer, stop, err
	}
	return id, answer, stop, s.remember(id, answer)
}

// named gives a tool call an id of its own where the model has used its id
// before in this session.
func (s *Session) named(call model.ToolCall) model.ToolCall {
	if call.ID == "" || s.callIDs[call.ID] {
		call.ID = newID("call")
	}
	s.callIDs[call.ID] = true
	return call
}

// invokeAll takes the tool calls of one message through the gate, side by
// side, and returns their results in the order of the calls.
func (s *Session) invokeAll(ctx context.Context, calls []model.ToolCall, messageID string, step int) []model.ToolResult {
	for _, call := range calls {
		s.publish(event.ToolCallStart{
			ToolCallID: call.ID, ToolName: call.Name, Arguments: call.Arguments, MessageID: messageID, Step: step,
		})
	}
	results := make([]model.ToolResult, len(calls))
	places := make(chan struct{}, maxParallelCalls)
	var running sync.WaitGroup
	for i, call := range calls {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			res := s.invoke(ctx, call, messageID)
			results[i] = model.ToolResult{ToolCallID: call.ID, Text: res.Text, IsError: res.IsError}
		})
	}
	running.Wait()
	return results
}

// remember adds a message to the conversation and stores it.
func (s *Session) remember(id string, message model.Message) error {
	s.messages = append(s.messages, message)
	return s.storeMessage(id, message)
}
