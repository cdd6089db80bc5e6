package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/store"
)

// Outcome is how a turn of a session ended.
type Outcome struct {
	Status store.Status // Completed, Failed, Cancelled or TimedOut
	Text   string       // the answer; empty unless Completed
	Err    error        // why; nil if Completed

	// Partial is the model's last text if the turn has not completed; empty means there is
	// none.
	Partial string

	// Stop says why the model's last answer ended; empty means it has given none.
	Stop model.StopReason

	// OutOfSteps says that the model had to conclude, as its steps were used up.
	OutOfSteps bool
}

// Prompt gives the session a prompt and runs the loop until the model has answered. It blocks
// until everything it started has ended. It fails if the session has no model or has ended.
func (s *Session) Prompt(ctx context.Context, prompt string) Outcome {
	return *s.newTurn(ctx, prompt, nil).run()
}

// turn is one turn of a session, from [Session.newTurn] to the end of run or release. One
// goroutine uses it at a time. Only leave may be called meanwhile: mu guards leaves.
type turn struct {
	s      *Session
	bond   *lifetime.Bond
	prompt string
	before *before // of a turn that another process has begun; nil means it begins here

	mu     sync.Mutex
	leaves func() bool // ends what endWith began; nil means it has not begun

	started bool
	inTime  func() // ends the watch over the budget's time
	call    modelCall
	err     error  // of start
	next    string // the id of the model's next message

	corrections int              // answers that were not accepted
	repairs     int              // answers whose checks failed
	partial     string           // the model's last text
	stop        model.StopReason // of its last answer
	final       bool             // which was the one for which its steps were used up
	out         Outcome          // once it is over
}

// newTurn returns a turn, which the caller runs or releases. before is what another process has
// done of it; nil means nothing.
func (s *Session) newTurn(ctx context.Context, prompt string, before *before) *turn {
	bond := s.life.Bind(ctx)
	return &turn{s: s, bond: bond, prompt: prompt, before: before, call: modelCall{s: s, bond: bond}}
}

// context ends with that of newTurn, when the session is stopped, and when the turn is over.
func (t *turn) context() context.Context { return t.bond.Context() }

// endWith has the turn end with ctx, too, until leave is called.
func (t *turn) endWith(ctx context.Context) {
	if ctx.Err() != nil {
		t.bond.Cancel(context.Cause(ctx))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaves = context.AfterFunc(ctx, func() { t.bond.Cancel(context.Cause(ctx)) })
}

// leave ends what endWith began, and reports whether it was in time.
func (t *turn) leave() bool {
	t.mu.Lock()
	leaves := t.leaves
	t.leaves = nil
	t.mu.Unlock()
	return leaves == nil || leaves()
}

// release ends a turn that is not run.
func (t *turn) release() {
	t.leave()
	t.bond.Release()
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

// watch returns the watch over the turn's events; nil means there is none.
func (t *turn) watch() *lifetime.Watch {
	s := t.s
	limit, end := cmp.Or(s.stall.limit, s.stall.notice), t.bond.Cancel
	if limit == 0 {
		return nil
	}
	if s.stall.limit == 0 {
		end = nil
	}
	setStalled := func(stalled bool) { _ = s.log.Set(func(r *store.Record) { r.Stalled = stalled }) }
	return lifetime.NewWatch(limit, end, func(idle time.Duration) {
		setStalled(true)
		s.log.Publish(event.Stalled{IdleMs: idle.Milliseconds(), StopsInMs: s.stall.limit.Milliseconds()})
	}, func() { setStalled(false) })
}

func (t *turn) open() error {
	s := t.s
	if s.caller {
		return errors.New("this session has no model of its own")
	}
	if err := t.context().Err(); err != nil {
		return err
	}
	if err := s.log.Become(store.Running); err != nil {
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
	s.talk.BeginTask()
	t.read([]inbox.Message{{ID: cmp.Or(s.first.id, store.NewID("msg")), Text: resident + s.usage.prompt(t.prompt)}})
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
	t.out = Outcome{Status: store.Completed, Text: text, Stop: t.stop, OutOfSteps: t.final}
	out := &t.out
	if err == nil {
		return
	}
	out.Status, out.Text, out.Err = store.Failed, "", err
	if t.context().Err() != nil {
		out.Err = context.Cause(t.context())
		switch {
		case errors.As(out.Err, new(*lifetime.TimeLimitError)), errors.As(out.Err, new(*lifetime.StalledError)):
			out.Status = store.TimedOut
			if bus := t.s.p.Bus; bus.Health().Stopped {
				out.Err = fmt.Errorf("%w%s", out.Err, bus.Health().Diagnosis)
			}
		case out.Err == context.Canceled: // without a reason
			out.Status, out.Err = store.Cancelled, errors.New("the task was cancelled")
		case errors.Is(out.Err, context.Canceled):
			out.Status, out.Err = store.Cancelled, fmt.Errorf("the task was cancelled: %w", out.Err)
		}
	}
	if broken := t.s.log.Err(); broken != nil {
		out.Status, out.Err = store.Failed, broken
	}
	out.Partial = t.partial
}

// announce begins another message of the model.
func (t *turn) announce() {
	t.s.log.Status(event.StatusStreaming)
	t.next = store.NewID("msg")
}

// read adds messages to the conversation.
func (t *turn) read(messages []inbox.Message) {
	s := t.s
	for _, m := range messages {
		if m.Assignment != nil {
			s.Assign(*m.Assignment)
		}
		s.talk.Tell(m.Text)
		s.logMessage(m)
	}
}

// logMessage appends a message of the inbox to the log.
func (s *Session) logMessage(m inbox.Message) {
	if m.By != "" {
		s.AskedFor(m.By)
	}
	s.log.Append(store.ToldEntry(m.ID, m.Text))
}

// tell adds a message to the conversation that the session has for its model.
func (t *turn) tell(text string) { t.read([]inbox.Message{{ID: store.NewID("msg"), Text: text}}) }
