package session

import (
	"context"
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
}

// invocation is one tool call on its way through the gate.
type invocation struct {
	model.ToolCall
	messageID string
	start     time.Time
	tool      tool.Tool     // nil: not looked up yet, or there is none
	prepared  tool.Prepared // nil: a model's call, whose arguments are not read yet
	call      *tool.Call    // nil: not admitted, or not yet
	res       CallResult
	over      bool // res is the outcome
	untold    bool // it may have changed what its tool does not tell
}

// end makes res the outcome of the call.
func (inv *invocation) end(res CallResult) { inv.res, inv.over = res, true }

// invoke takes a tool call through the gate: it judges it, asks where the rules
// say so, runs it, and announces the outcome. It is the only caller of a tool.
// What has been done of it, by [Session.start], is not done again.
func (s *Session) invoke(ctx context.Context, inv *invocation) CallResult {
	if inv.call == nil && !inv.over {
		s.admitGuarded(ctx, inv, true)
	}
	if inv.call != nil && !inv.over {
		s.run(ctx, inv)
	}
	s.publishEnd(inv)
	return inv.res
}

// start does of a call what needs no waiting.
func (s *Session) start(ctx context.Context, inv *invocation) {
	defer s.guard(inv)
	s.admit(ctx, inv, false)
	if b, ok := inv.prepared.(tool.Beginner); ok && inv.call != nil && inv.tool.Spec().Delegates {
		b.Begin(ctx, inv.call)
	}
}
