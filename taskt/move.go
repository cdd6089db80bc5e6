package taskt

import (
	"errors"
	"sync"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/tool"
)

// moving is what a call that waits for its child has for who moves that to the
// background.
type moving struct {
	mu    sync.Mutex
	call  *tool.Call    // nil means the call does not wait yet
	over  bool          // the child's turn has ended
	leave func()        // says that the child has ended; nil means it was not moved
	hold  func()        // has the clocks above go on; nil means they do
	moved chan struct{} // closed when it is moved; nil means nobody waits for that
}

// errStays is why a child is not moved.
var errStays = errors.New("the command that has started it waits for its end, and would end it")

var _ session.Mover = (*call)(nil)

// MoveToBackground implements [session.Mover].
func (c *call) MoveToBackground(by string) error {
	m := &c.moving
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over:
		return store.ErrEnded
	case m.call == nil:
		return session.ErrNotWaiting
	case m.leave != nil:
		return nil
	case c.stays:
		return errStays
	}
	leave, err := c.parent.Adopt(c.turn)
	if err != nil {
		return err
	}
	m.leave = leave
	if err := c.child.InBackground(by); err != nil {
		return err
	}
	if c.def.Timeout == 0 && c.in.TimeoutSeconds == 0 {
		c.turn.Extend(max(0, c.service.limits.BackgroundTime-c.service.limits.ChildTime))
	}
	if c.slot != nil {
		c.slot.SetBackground(c.agent, c.child.ID())
	}
	m.release()
	if m.moved != nil {
		close(m.moved)
	}
	m.call.Caller.Return(tool.Result{Text: control.XML("task_accepted", c.agent, accepted(c.child.ID(), c.parent.Agent() != "", true))})
	return nil
}

// release has the clocks go on that are held while the child waits for a slot. m.mu is
// held.
func (m *moving) release() {
	if m.hold != nil {
		m.hold()
		m.hold = nil
	}
}

// begin notes that a call waits for its child.
func (m *moving) begin(call *tool.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.call = call
}

// end notes that the child's turn has ended. leave is what is to be done once the child
// has; nil means it was not moved.
func (m *moving) end() (leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	return m.leave
}
