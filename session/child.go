package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/session/record"
)

// ChildSpec says which child a task call runs, and how.
type ChildSpec struct {
	Spec          // Parent is required; with Claimed the child goes on that this process has claimed
	Prompt string // what the child is told; a claimed one knows it

	Attachments []picture.Attachment // which belong to Prompt

	// Bound says that the end of the call's context ends the child also once it runs in the
	// background.
	Bound bool

	// Stays is why the child can't be moved to the background while its call waits; nil
	// means it can.
	Stays error

	// BackgroundTime is how much more time the child gets once it is moved to the background.
	BackgroundTime time.Duration
}

// Task is a task call as its child sees it. It is the one way from a session back to the call
// that runs it. [Child.Begin] and [Child.Run] call its methods, except Moved.
type Task interface {
	// Enter gets the child the right to run, a slot. It waits for one until ctx ends;
	// without wait it reports false where none is free.
	Enter(ctx context.Context, wait bool) (entered bool, err error)

	// Leave gives back what Enter got, once the turn is over.
	Leave()

	// Moved has the call return while the child continues in the background. It is called
	// before Ending, in the goroutine that moves the child.
	Moved()

	// Ending is called when the turn is over, while the child can still be changed. It may
	// change the outcome.
	Ending(ctx context.Context, out *Outcome)

	// Ended is called once the child has ended. With background the call has returned before,
	// so the parent still has to get the result.
	Ended(ctx context.Context, out *Outcome, background bool)
}

// Child is a session that a task call runs. The call may use Begin, and then uses Run or Abandon,
// each once. Lock mu guards what a move to the background changes, and is held during the move.
type Child struct {
	*Session
	spec    ChildSpec
	task    Task
	turn    *turn
	entered bool // it has a slot

	mu     sync.Mutex
	within context.Context // of the call that waits; nil means that none does yet
	over   bool            // the turn has ended
	resume func()          // has the clocks above run again; nil means that they run
	leave  func()          // lets the parent end; nil means that the child was not moved
}

// OpenChild opens the child of a task call, as [Manager.Open] does. The caller runs or
// abandons it.
func (m *Manager) OpenChild(ctx context.Context, spec ChildSpec, task Task) (*Child, error) {
	c := &Child{spec: spec, task: task}
	if !spec.Background {
		spec.Spec.move = c.moveToBackground
	}
	var err error
	if c.Session, err = m.Open(ctx, spec.Spec); err != nil {
		return nil, err
	}
	return c, nil
}

// Begin starts the child's turn if a slot is free: a call that waits for its child begins it
// early, from a goroutine whose stack may grow. Run does the rest.
func (c *Child) Begin(ctx context.Context) {
	c.begin(ctx)
	// A turn that begins with a file may have to wait for an answer first.
	if c.entered, _ = c.task.Enter(ctx, false); c.entered && c.spec.ResidentFile == "" && len(c.spec.Attachments) == 0 {
		c.turn.start()
	}
}

// begin makes the turn. It ends with ctx: that of a child in the foreground until the child
// is moved to the background.
func (c *Child) begin(ctx context.Context) {
	detachable := !c.spec.Bound && !c.spec.Background
	within := ctx
	if detachable {
		within = c.life.Context()
	}
	var done *before
	if c.spec.Claimed != nil {
		done = &c.before
	}
	c.turn = c.newTurn(within, c.spec.Prompt, c.spec.Attachments, done)
	if detachable {
		c.turn.endWith(ctx)
	}
}

// Run waits for a slot, runs the child's turn and ends the child. Its frame is small, as
// that of turn.run.
func (c *Child) Run(ctx context.Context) *Outcome {
	if c.turn == nil {
		c.begin(ctx)
	}
	c.mu.Lock()
	c.within = ctx
	c.mu.Unlock()
	out := c.runTurn()
	c.finish(ctx, out, c.Record().Background)
	return out
}

func (c *Child) runTurn() *Outcome {
	defer c.turnOver()
	if !c.entered {
		if err := c.enter(); err != nil {
			c.turn.release()
			return &Outcome{Status: record.Cancelled, Err: fmt.Errorf("the task was cancelled before it began: %w", err)}
		}
	}
	return c.turn.run()
}

// enter waits for a slot. Meanwhile the clocks of those above stand still, as long as they
// wait for the child.
func (c *Child) enter() (err error) {
	c.mu.Lock()
	if c.leave == nil && !c.spec.Background {
		c.resume = c.parent.life.Hold()
	}
	c.mu.Unlock()
	c.entered, err = c.task.Enter(c.turn.context(), true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumeAbove()
	return err
}

// resumeAbove has the clocks run that enter holds. c.mu is held.
func (c *Child) resumeAbove() {
	if c.resume != nil {
		c.resume()
		c.resume = nil
	}
}

// turnOver keeps the child where it is, and gives its slot back.
func (c *Child) turnOver() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	if c.entered {
		c.task.Leave()
	}
}

// finish ends the child once its turn is over.
func (c *Child) finish(ctx context.Context, out *Outcome, background bool) {
	c.task.Ending(ctx, out)
	if err := c.End(out.Status, out.Err); err != nil && !c.log.HandedOver() {
		c.p.Log.Error("ending a session", "session", c.id, "err", err)
		if out.Err == nil { // the answer must not be handed out with events missing
			*out = Outcome{Status: record.Failed, Err: err}
		}
	}
	c.task.Ended(ctx, out, background)
	if c.leave != nil {
		c.leave()
	}
}

// Abandon ends a child that is not run.
func (c *Child) Abandon(ctx context.Context, why error) *Outcome {
	if c.turn != nil {
		c.turn.release()
	}
	c.turnOver()
	out := &Outcome{Status: record.Cancelled, Err: why}
	c.finish(ctx, out, false)
	return out
}

// moveToBackground has the call return that waits for the child, which goes on in the
// background. One that is there stays there.
func (c *Child) moveToBackground(by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return record.ErrEnded
	case c.within == nil:
		return ErrNotWaiting
	case c.leave != nil:
		return nil
	case c.spec.Stays != nil:
		return c.spec.Stays
	}
	leave, err := c.turn.moveBelow(c.parent)
	if err != nil {
		return err
	}
	c.log.Publish(event.MovedToBackground{By: by})
	if err = c.log.FlushPatiently(); err == nil {
		err = c.log.Set(func(r *record.Record) { r.Background = true })
	}
	if err != nil {
		leave()
		if !c.spec.Bound {
			c.turn.endWith(c.within)
		}
		return err
	}
	c.leave = leave
	c.life.Extend(c.spec.BackgroundTime)
	c.resumeAbove()
	c.task.Moved()
	return nil
}

// moveBelow has the turn of a child, for which a call waits, run in the background of s, the
// parent. leave says that the child has ended.
func (t *turn) moveBelow(s *Session) (leave func(), err error) {
	if err := s.inbox.Enter(); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.id, err)
	}
	if !t.leave() {
		s.inbox.Leave()
		return nil, fmt.Errorf("session %s is being cancelled", t.s.id)
	}
	bond := s.life.Bind(s.life.Context())
	release := context.AfterFunc(bond.Context(), func() { t.bond.Cancel(context.Cause(bond.Context())) })
	return func() {
		release()
		bond.Release()
		s.inbox.Leave()
	}, nil
}
