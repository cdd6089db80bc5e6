package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/toolcall"
)

// concludeNow is what the model reads when its steps are used up.
const concludeNow = "You have used all of your steps, and no tool can be called any more. " +
	"Conclude now: give your answer with what you have found, and say what is left open."

// maxCorrections is how often in a turn the model may answer again after an answer that was
// not accepted.
const maxCorrections = 2

// answerAgain is what the model reads after such an answer.
const answerAgain = "Your answer is not accepted: %v\nAnswer again, with the corrected answer alone."

// What the model reads after an answer without text.
const (
	answerNow  = "Your last message has no text, so nobody can read an answer in it. Write your answer now, as text."
	answerLess = "Your last message was cut off at the output limit before its text began. Think less, and write your answer now, as text."
	answerLast = "No tool can be called any more. Write your answer now, as text, with what you have."
)

// guard makes a panic an error of the turn, so that the session is ended like any other. It is
// deferred.
func (t *turn) guard(err *error) {
	if p := recover(); p != nil {
		t.s.p.Log.Error("a turn panicked", "session", t.s.id, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error: %v", p)
	}
}

// loop runs step after step.
func (t *turn) loop() (text string, err error) {
	defer t.guard(&err)
	if t.before != nil && t.before.answer != nil {
		t.final = t.before.steps > t.s.agent.maxSteps
		return *t.before.answer, nil
	}
	if err := t.route(); err != nil {
		return "", err
	}
	if t.done().step != nil {
		if err := t.finishStep(); err != nil {
			return "", err
		}
		t.announce()
	}
	for step := t.done().steps + 1; ; step++ {
		a := &answer{id: t.next, final: step > t.s.agent.maxSteps}
		if text, over, err := t.step(step, a); over || err != nil {
			return text, err
		}
		t.announce()
	}
}

// step asks the model for an answer, and does what follows from it. over says that the turn has
// ended. What people have seen of an answer that was cut off stays in the conversation.
func (t *turn) step(step int, a *answer) (text string, over bool, err error) {
	if err := t.hold(); err != nil {
		return "", false, err
	}
	messages, ctx, end := t.s.inbox.BeginStep(t.context(), a.final)
	defer end()
	t.tellAbout()
	t.read(t.judged(ctx, messages))
	err = t.askModel(ctx, a)
	if text := a.text.String(); text != "" {
		t.partial = text
	}
	if err == nil {
		return t.follow(ctx, step, a)
	}
	if text := log.CutOff(a.text.String()); text != "" {
		t.s.talk.CutOff(text)
	}
	switch {
	case t.context().Err() == nil && errors.As(context.Cause(ctx), new(inbox.InterruptedError)):
		return "", false, nil
	}
	return "", false, err
}

// follow does what follows from an answer of the model: it makes the calls, or ends the turn.
func (t *turn) follow(ctx context.Context, step int, a *answer) (text string, over bool, err error) {
	t.stop, t.final = a.stop, a.final
	if len(a.message.ToolCalls) == 0 || a.final {
		return t.conclude(ctx, a)
	}
	s := t.s
	if budget := s.usage.budget; budget != nil {
		if err := budget.ReserveTools(ctx, len(a.message.ToolCalls), s.usage.ask); err != nil {
			return "", true, err
		}
	}
	all := make([]*toolcall.Call, len(a.message.ToolCalls))
	for i := range all {
		all[i] = &toolcall.Call{ToolCall: a.message.ToolCalls[i], MessageID: a.id}
		if a.stop == model.StopMaxTokens {
			all[i].CutAt = max(1, cmp.Or(a.usage.OutputTokens, int64(a.most)))
		}
	}
	s.log.Status(event.StatusExecutingTool)
	s.calls.PublishStarts(all, step)
	return "", false, t.act(ctx, all, a.id, step)
}

// conclude makes an answer without calls the result of the turn, unless messages wait or the
// answer is not accepted.
func (t *turn) conclude(ctx context.Context, a *answer) (text string, over bool, err error) {
	s := t.s
	if !a.final && a.stop != model.StopRefusal {
		if more, err := s.inbox.Await(t.context(), func() { s.log.Status(event.StatusIdle) }); more || err != nil {
			if a.message.Text != "" {
				t.earlier = append(t.earlier, a.message.Text)
			}
			return "", err != nil, err
		}
	}
	if t.remind(a) {
		return "", false, t.context().Err()
	}
	text, err = s.agent.result(a.message.Text, a.stop)
	if unaccepted, ok := errors.AsType[*UnacceptedError](err); ok && !a.final && t.corrections < maxCorrections {
		t.corrections++
		t.tell(fmt.Sprintf(answerAgain, unaccepted))
		return "", false, t.context().Err()
	}
	if err != nil {
		return "", true, err
	}
	if more, err := t.check(ctx, text, a.final); more || err != nil {
		return "", err != nil, err
	}
	if goOn := toolcall.HooksOf(s.calls).Stop(ctx, text, t.goesOn); goOn != "" && !a.final && ctx.Err() == nil {
		t.goesOn = true
		t.tell(goOn)
		return "", false, t.context().Err()
	}
	s.log.Status(event.StatusIdle)
	s.log.Publish(event.TurnComplete{Message: event.TurnMessage{ID: a.id, Text: text}})
	return text, true, s.log.Err()
}

// remind tells the model, once in a turn, that its last answer has no text. It reports whether it has.
func (t *turn) remind(a *answer) bool {
	if t.reminded || a.stop == model.StopRefusal || strings.TrimSpace(a.message.Text) != "" || t.s.agent.accept != nil && !a.final {
		return false
	}
	t.reminded = true
	switch {
	case a.stop == model.StopMaxTokens:
		t.tell(answerLess)
	case a.final:
		t.tell(answerLast)
	default:
		t.tell(answerNow)
	}
	return true
}

// act makes the calls of a message, and adds their results to the conversation.
func (t *turn) act(ctx context.Context, all []*toolcall.Call, messageID string, step int) error {
	s := t.s
	times, call := s.talk.Repeats(maxRepeats, t.polls)
	message := model.Message{Role: model.User, ToolResults: s.calls.MakeAll(ctx, all, func(c *toolcall.Call) string { return t.repeated(c.Name, times) })}
	t.succeed(step)
	if step == s.agent.maxSteps {
		message.Text = concludeNow
		s.log.Append(log.ResultsEntry(messageID, message.Text))
	}
	s.talk.Results(message)
	if times > maxRepeats && ctx.Err() == nil {
		return &RepeatedCallError{Tool: call.Name, Arguments: call.Arguments, Times: times}
	}
	return t.context().Err()
}

// succeed makes the session's agent the one that was named during its last step.
func (t *turn) succeed(step int) {
	s := t.s
	next, newModel := s.agent.become(step)
	if next == nil {
		return
	}
	s.calls.Rules.SetOwn(next.rules)
	s.calls.Tools, s.calls.AgentHooks = next.tools, next.hooks
	s.talk.ChangeModel(newModel)
	if !next.wholeTime {
		s.life.Restart(next.timeLimit)
	}
}

// maxRepeats is how often in a row a model may make the same calls. The last of them are
// errors that warn it, and if it makes them once more, the turn ends.
const maxRepeats = 3

// maxShownArguments bounds what an error shows of the arguments of a call.
const maxShownArguments = 200

// RepeatedCallError says that a turn ended because the model made the same call again and
// again, although it was told to stop.
type RepeatedCallError struct {
	Tool      string
	Arguments string // as the model wrote them
	Times     int    // in a row
}

func (e *RepeatedCallError) Error() string {
	return fmt.Sprintf("the agent went round in circles: it made the call %s %s %d times in a row, and was told after %d that this leads nowhere",
		termtext.OneLine(e.Tool, maxShownArguments), termtext.OneLine(e.Arguments, maxShownArguments), e.Times, maxRepeats)
}

// polls reports whether a tool reads how other sessions are: its answer is another one each
// time.
func (t *turn) polls(name string) bool {
	found := t.s.calls.Tools.Get(name)
	if found == nil {
		return false
	}
	spec := found.Spec()
	return spec.Follows != "" && spec.Follows != name && spec.ReadOnly
}

// repeated says why a call is not made that the model makes for the same time again; empty
// means that it is made.
func (t *turn) repeated(name string, times int) string {
	if times < maxRepeats || times == maxRepeats && t.polls(name) {
		return ""
	}
	nth, then := "third", "One more such call ends your task."
	if times > maxRepeats {
		nth, then = strconv.Itoa(times)+"th", "That ends your task."
	}
	return fmt.Sprintf("%s %s for the %s time in a row. "+
		"You have its result already: do something else, or give your answer with what you have. %s", name, conversation.NotRunAgain, nth, then)
}
