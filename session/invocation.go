package session

import (
	"context"
	"sync"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/tool"
)

// CallResult is the outcome of a tool call.
type CallResult struct {
	tool.Result
	// Refused says that the gate did not let the call through: the tool has
	// not run.
	Refused bool
	Rule    string // as in [event.ToolCallEnd]
}

// invocation is one tool call on its way through the gate.
type invocation struct {
	model.ToolCall
	session   *Session
	callers   bool            // made by the caller that the session stands for
	running   *sync.WaitGroup // counts it until it has its outcome; nil means none does
	mu        sync.Mutex      // guards res and over while the tool runs
	returned  bool            // the outcome is announced, and stays
	messageID string
	start     time.Time
	tool      tool.Tool     // nil means not looked up yet, or there is none
	prepared  tool.Prepared // nil means a model's call, whose arguments are not read yet
	call      *tool.Call    // nil means not admitted, or not yet
	res       CallResult
	over      bool // res is the outcome
	untold    bool // it may have changed what its tool does not tell
}

// end makes res the outcome of the call, if it has not returned before.
func (inv *invocation) end(res CallResult) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if !inv.returned {
		inv.res, inv.over = res, true
	}
}

// Return implements [tool.Caller].
func (inv *invocation) Return(res tool.Result) {
	inv.end(CallResult{Result: res})
	inv.leave()
}

// leave announces the outcome of a call, once, and has its caller go on.
func (inv *invocation) leave() {
	inv.mu.Lock()
	before := inv.returned
	inv.returned = true
	inv.mu.Unlock()
	if before {
		return
	}
	s := inv.session
	s.publishEnd(inv)
	if inv.callers {
		s.answered(inv)
	}
	if inv.running != nil {
		inv.running.Done()
	}
}

// invoke takes a tool call through the gate: it judges it, asks where the rules
// say so, runs it, and announces the outcome. It is the only caller of a tool.
// What has been done of it, by [Session.start], is not done again.
func (s *Session) invoke(ctx context.Context, inv *invocation) CallResult {
	inv.session = s
	if inv.call == nil && !inv.over {
		s.admitGuarded(ctx, inv, true)
	}
	if inv.call != nil && !inv.over {
		s.run(ctx, inv)
	}
	inv.leave()
	return inv.res
}

// start does of a call what needs no waiting.
func (s *Session) start(ctx context.Context, inv *invocation) {
	defer s.guard(inv)
	if inv.call == nil && !inv.over {
		s.admit(ctx, inv, false)
	}
	if b, ok := inv.prepared.(tool.Beginner); ok && inv.call != nil && inv.tool.Spec().Delegates {
		b.Begin(ctx, inv.call)
	}
}
