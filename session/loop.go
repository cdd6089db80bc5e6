package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/store"
)

// concludeNow is what the model reads when its steps are used up.
const concludeNow = "You have used all of your steps, and no tool can be called any more. " +
	"Conclude now: give your answer with what you have found, and say what is left open."

// maxCorrections is how often the model may answer again in a turn after an
// answer that was not accepted.
const maxCorrections = 2

// answerAgain is what the model reads after such an answer.
const answerAgain = "Your answer is not accepted: %v\nAnswer again, with the corrected answer alone."

// UnacceptedError tells that a turn ended with an answer that [Spec.Accept]
// refused.
type UnacceptedError struct {
	Answer string // the last one, as the model gave it
	Err    error  // of Accept
}

func (e *UnacceptedError) Error() string { return e.Err.Error() }
func (e *UnacceptedError) Unwrap() error { return e.Err }

// Outcome is how a turn of a session ended.
type Outcome struct {
	Status store.Status // Completed, Failed, Cancelled or TimedOut
	Text   string       // the answer; empty unless Completed
	Err    error        // why; nil if Completed

	// Partial is what the model has said last, if the turn has not completed; empty means
	// nothing.
	Partial string

	// Stop says why the model's last answer ended; empty means it has given none.
	Stop model.StopReason

	// OutOfSteps says that the model had to conclude, as its steps were used up.
	OutOfSteps bool
}

// Prompt gives the session a prompt and runs the loop until the model has
// answered. It blocks until everything it started has ended. It fails if the
// session has no model or has ended.
func (s *Session) Prompt(ctx context.Context, prompt string) Outcome {
	return *s.Begin(ctx, prompt).Run()
}

// Turn is one turn of a session, from [Session.Begin] to the end of [Turn.Run].
type Turn struct {
	bond   *lifetime.Bond
	s      *Session
	prompt string

	before *before // of one that another process has begun; nil means it is begun here

	clock  *lifetime.Clock // nil means not started
	inTime func()          // ends the watch over the budget's time; nil means not started

	callTimer *time.Timer // of the model call that runs, or was last; nil means there was none
	err       error       // of the start
	next      string      // the id of the next message of the model
	below     func() bool // takes the turn out of the context that it began in; nil means it can't be

	corrections int              // answers that were not accepted
	said        string           // by the model, last
	stop        model.StopReason // of its last answer
	final       bool             // which was the one that its steps were used up for
	repairs     int              // answers whose checks failed
	out         Outcome          // once it is over
}

// Begin returns a turn that is to be run, or released.
func (s *Session) Begin(ctx context.Context, prompt string) *Turn {
	return &Turn{bond: s.life.Bind(ctx), s: s, prompt: prompt}
}

// Context ends with ctx of [Session.Begin], when the session is stopped, and
// when the turn is over.
func (t *Turn) Context() context.Context { return t.bond.Context() }

// Release ends a turn that is not run.
func (t *Turn) Release() {
	t.apart()
	t.bond.Release()
}

// Start does what comes before the first model call, and starts the clock. Run
// does it where nobody has.
func (t *Turn) Start() {
	s := t.s
	s.mu.Lock()
	t.clock = lifetime.NewClock(t.bond.Cancel, s.timeLimit+s.extra, t.done().worked)
	s.clock = t.clock
	s.mu.Unlock()
	t.inTime = t.within()
	t.watchStall()
	t.err = t.open()
}

func (t *Turn) open() error {
	s := t.s
	if s.agent == "" {
		return errors.New("this session has no model of its own")
	}
	if err := t.Context().Err(); err != nil {
		return err
	}
	if err := s.become(store.Running, nil); err != nil {
		return err
	}
	if t.before != nil {
		return t.goOn()
	}
	resident, err := t.openResident()
	if err != nil {
		return err
	}
	s.task = len(s.messages)
	s.deliver([]notice{{id: cmp.Or(s.promptID, store.NewID("msg")), text: resident + t.told()}})
	s.promptID = ""
	t.announce()
	return nil
}

// Run runs the loop, as [Session.Prompt] does. Its frames are small, as those of all that
// it calls up to the model's answer: thousands of turns may wait there, each with the stack
// of a goroutine.
func (t *Turn) Run() *Outcome {
	defer t.Release()
	if t.s.lasting { // who stops it waits for the turn
		if err := t.s.begin(); err != nil {
			t.end("", err)
			return &t.out
		}
		defer t.s.finish()
	}
	if t.clock == nil {
		t.Start()
	}
	defer t.stopClocks()
	if t.err != nil {
		t.end("", t.err)
	} else {
		t.end(t.loop())
	}
	return &t.out
}

func (t *Turn) stopClocks() {
	t.unwatchStall()
	t.inTime()
	t.clock.Stop()
}

// end notes how the turn has ended.
func (t *Turn) end(text string, err error) {
	t.out = Outcome{Status: store.Completed, Text: text, Stop: t.stop, OutOfSteps: t.final}
	out := &t.out
	if err == nil {
		return
	}
	out.Status, out.Text, out.Err = store.Failed, "", err
	var limit *lifetime.TimeLimitError
	if t.Context().Err() != nil {
		out.Err = context.Cause(t.Context())
		switch {
		case errors.As(out.Err, &limit), errors.As(out.Err, new(*lifetime.StalledError)):
			out.Status = store.TimedOut
			if bus := t.s.m.bus; bus.Stopped() {
				out.Err = fmt.Errorf("%w%s", out.Err, bus.Diagnosis())
			}
		case out.Err == context.Canceled: // without a reason
			out.Status, out.Err = store.Cancelled, errors.New("the task was cancelled")
		case errors.Is(out.Err, context.Canceled):
			out.Status, out.Err = store.Cancelled, fmt.Errorf("the task was cancelled: %w", out.Err)
		}
	}
	if broken := t.s.brokenBy(); broken != nil {
		out.Status, out.Err = store.Failed, broken
	}
	out.Partial = t.said
}

// guard makes a panic an error of the turn, so that the session is ended like any other.
// It is deferred.
func (t *Turn) guard(err *error) {
	if p := recover(); p != nil {
		t.s.m.log.Error("a turn panicked", "session", t.s.id, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error: %v", p)
	}
}

// loop runs step after step.
func (t *Turn) loop() (text string, err error) {
	defer t.guard(&err)
	if t.before != nil && t.before.answer != nil {
		return *t.before.answer, nil
	}
	if err := t.approach(); err != nil {
		return "", err
	}
	for step := t.done().steps + 1; ; step++ {
		a := &answer{id: t.next, final: step > t.s.maxSteps}
		if text, over, err := t.step(step, a); over || err != nil {
			return text, err
		}
		t.announce()
	}
}

// approach does what comes before the first step.
func (t *Turn) approach() error {
	if err := t.route(); err != nil {
		return err
	}
	if t.done().step == nil {
		return nil
	}
	if err := t.finishStep(); err != nil {
		return err
	}
	t.announce()
	return nil
}

// announce begins another message of the model.
func (t *Turn) announce() {
	t.s.status(event.StatusStreaming)
	t.next = store.NewID("msg")
}

// step asks the model for an answer, and does what follows from it. over: the turn
// has ended. What a message has interrupted of the answer is not in the conversation.
func (t *Turn) step(step int, a *answer) (text string, over bool, err error) {
	s := t.s
	ctx, end := s.beginStep(t.Context(), a.final)
	defer end()
	err = t.askModel(ctx, a)
	if said := a.text.String(); said != "" {
		t.said = said
	}
	switch {
	case err == nil:
		return t.follow(ctx, step, a)
	case t.interrupted(ctx):
		return "", false, nil
	}
	return "", false, err
}

// follow does what follows from an answer of the model.
func (t *Turn) follow(ctx context.Context, step int, a *answer) (text string, over bool, err error) {
	s := t.s
	t.stop, t.final = a.stop, a.final
	if len(a.message.ToolCalls) == 0 || a.final {
		if !a.final && a.stop != model.StopRefusal {
			if more, err := t.await(); more || err != nil {
				return "", err != nil, err
			}
		}
		text, err := s.conclude(a.message.Text, a.stop)
		if unaccepted, ok := errors.AsType[*UnacceptedError](err); ok && !a.final && t.corrections < maxCorrections {
			t.corrections++
			s.tell(fmt.Sprintf(answerAgain, unaccepted))
			return "", false, t.Context().Err()
		}
		if err != nil {
			return "", true, err
		}
		if more, err := t.accepted(ctx, text, a.final); more || err != nil {
			return "", err != nil, err
		}
		s.status(event.StatusIdle)
		s.publish(event.TurnComplete{Message: event.TurnMessage{ID: a.id, Text: text}})
		return text, true, s.brokenBy()
	}
	if s.budget != nil {
		if err := s.budget.ReserveTools(ctx, len(a.message.ToolCalls), s.askBudget); err != nil {
			return "", true, err
		}
	}
	all := make([]*invocation, len(a.message.ToolCalls))
	for i := range all {
		all[i] = &invocation{ToolCall: a.message.ToolCalls[i], messageID: a.id}
	}
	s.status(event.StatusExecutingTool)
	s.publishStarts(all, step)
	return "", false, t.act(ctx, all, a.id, step)
}

// act makes the calls of a message, and adds their results to the conversation.
func (t *Turn) act(ctx context.Context, all []*invocation, messageID string, step int) error {
	s := t.s
	times, call := s.repeats()
	message := model.Message{Role: model.User, ToolResults: s.invokeAll(ctx, all, times)}
	s.succeed(step)
	if step == s.maxSteps {
		message.Text = concludeNow
		s.append(store.ResultsEntry(messageID, message.Text))
	}
	s.messages = append(s.messages, message)
	if times > maxRepeats && ctx.Err() == nil {
		return &RepeatedCallError{Tool: call.Name, Arguments: call.Arguments, Times: times}
	}
	return t.Context().Err()
}

// askModel asks the model for an answer, in a conversation that has room for it.
func (t *Turn) askModel(ctx context.Context, a *answer) error {
	if _, err := t.compact(ctx, false); err != nil {
		return err
	}
	err := t.callModel(ctx, a)
	if err == nil || !models.Overflows(err) {
		return err
	}
	made, failed := t.compact(ctx, true)
	switch {
	case failed != nil:
		return failed
	case !made:
		return err
	}
	return t.callModel(ctx, a)
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

// named gives a tool call an id of its own where the model has used its id
// before in this session.
func (s *Session) named(call model.ToolCall) model.ToolCall {
	if call.ID == "" || s.callIDs[call.ID] {
		call.ID = store.NewID("call")
	}
	s.callIDs[call.ID] = true
	return call
}

// tell adds a message to the conversation that the session has for its model.
func (s *Session) tell(text string) {
	s.messages = append(s.messages, model.Message{Role: model.User, Text: text})
	s.append(store.ToldEntry(store.NewID("msg"), text))
}
