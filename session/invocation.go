package session

import (
	"context"
	"sync"
	"sync/atomic"
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

// follows reports whether the call is about what an allowed call of another tool has made.
func (inv *invocation) follows() bool { return inv.tool != nil && inv.tool.Spec().Follows != "" }

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
func (s *Session) invoke(ctx context.Context, inv *invocation) {
	inv.session = s
	if inv.call == nil && !inv.over {
		s.admitGuarded(ctx, inv, true)
	}
	if inv.call != nil && !inv.over {
		s.run(ctx, inv)
	}
	inv.leave()
	inv.prepared, inv.call = nil, nil // what they hold is not kept until the others of the step are over
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

// invokeAll takes the tool calls of one message through the gate, side by
// side, and returns their results in the order of the calls. times is how often in a row
// the model has made them. What has its outcome is not run, and what has passed the gate
// before is not judged.
func (s *Session) invokeAll(ctx context.Context, all []*invocation, times int) []model.ToolResult {
	var delegated, others []*invocation
	for _, inv := range all {
		t := inv.tool
		if t == nil {
			t = s.tools.Get(inv.Name)
		}
		switch {
		case inv.returned:
		case inv.call == nil && (times > maxRepeats || times == maxRepeats && !s.polls(inv.Name)):
			refuseRepeated(inv, times)
			s.publishEnd(inv)
		case t != nil && t.Spec().Delegates:
			delegated = append(delegated, inv)
		default:
			others = append(others, inv)
		}
	}
	if len(delegated) == 0 && len(others) == 1 {
		s.invoke(ctx, others[0])
	} else {
		s.invokeBeside(ctx, delegated, others)
	}
	results := make([]model.ToolResult, len(all))
	for i, inv := range all {
		results[i] = model.ToolResult{ToolCallID: inv.ID, Text: inv.res.Text, IsError: inv.res.IsError}
	}
	return results
}

// invokeBeside runs tool calls side by side. Calls of tools that delegate wait for nothing
// here; of the others, [Limits.StepCalls] run at once.
func (s *Session) invokeBeside(ctx context.Context, delegated, others []*invocation) {
	var running sync.WaitGroup
	s.startAll(ctx, delegated, &running)
	slots := make(chan struct{}, s.m.limits.StepCalls)
	for _, inv := range others {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			s.invoke(ctx, inv)
		})
	}
	running.Wait()
}

// starters is how many calls of tools that delegate are started at once:
// the stacks of goroutines that start them grow, those of calls that wait don't.
const starters = 8

// startAll starts calls in their order, and has each of them run in a goroutine
// of its own.
func (s *Session) startAll(ctx context.Context, calls []*invocation, running *sync.WaitGroup) {
	if len(calls) < 2 {
		for _, inv := range calls {
			s.goInvoke(ctx, inv, running)
		}
		return
	}
	var next atomic.Int64
	for range min(starters, len(calls)) {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
				inv := calls[i]
				s.start(ctx, inv)
				s.goInvoke(ctx, inv, running)
			}
		})
	}
}

// goInvoke takes a call through the gate in a goroutine of its own. running counts it
// until it has its outcome.
func (s *Session) goInvoke(ctx context.Context, inv *invocation, running *sync.WaitGroup) {
	running.Add(1)
	inv.running = running
	go s.invoke(ctx, inv)
}
