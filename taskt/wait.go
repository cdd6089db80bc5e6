package taskt

import (
	"context"
	"fmt"

	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/tool"
)

// wait is what the caller of a call waits for: the result, or the move of the child to the
// background.
type wait struct {
	host   *host      // nil means the call is a session's own
	made   *tool.Call // nil means the call does not wait yet
	result *Result    // of the call; nil means not known yet

	ended chan struct{} // of a child that began in the background: closed once final is set; nil means it did not
	final *Result       // of that child
}

// host is what a host learns of its call while that runs.
type host struct {
	ctx     context.Context // what runs in the background for the host ends with it
	stays   error           // why the child is not moved to the background; nil means it may be
	opened  chan struct{}   // closed: childID is set
	childID string
	left    func()        // nobody waits for the call any more
	moved   chan struct{} // closed: the child was moved to the background
}

// open tells the host which child was opened.
func (w *wait) open(childID string) {
	if w.host != nil {
		w.host.childID = childID
		close(w.host.opened)
	}
}

// move makes the call return, since its child was moved to the background.
func (w *wait) move(agent, childID string, byAgent bool) {
	if w.host != nil {
		w.host.left()
		close(w.host.moved)
	}
	w.made.Caller.Return(tool.Result{Text: control.XML("task_accepted", agent, accepted(childID, byAgent, true))})
}

// end sets the result of the child.
func (w *wait) end(r *Result) {
	if w.ended == nil {
		w.result = r
		return
	}
	w.final = r
	close(w.ended)
}

// accepted is what a caller reads of a child in the background. byAgent: its end comes as a
// message. moved: a person has moved it there.
func accepted(childID string, byAgent, moved bool) string {
	then := "task_wait waits for it, and task_result has its answer then."
	if byAgent {
		then = "Its result comes to you as a message when it has ended: go on with other work, or call task_wait to wait for it."
	}
	if moved {
		then = "The user has moved it to the background, where it goes on. " + then
	}
	return fmt.Sprintf("{\"status\": %q, \"sessionId\": %q}\n%s", control.Accepted, childID, then)
}
