package session

import (
	"fmt"
	"time"
)

// Limits bound what a session does. A zero value means the default.
type Limits struct {
	ModelCall time.Duration // one model call; 120 s
	ToolCall  time.Duration // one call of a tool without a limit of its own; 30 s
	Approval  time.Duration // how long a call waits for an answer; 10 min

	// Pause is how long a session waits at most for a provider that has named a time
	// to ask it again, in one pause or several that follow each other; 30 min.
	Pause time.Duration

	// StepCalls bounds the tool calls of one step that run at once, but for those
	// of tools that delegate ([tool.Spec.Delegates]): 1 to 1,000; 16.
	StepCalls int
}

func (l Limits) withDefaults() Limits {
	if l.ModelCall == 0 {
		l.ModelCall = 120 * time.Second
	}
	if l.ToolCall == 0 {
		l.ToolCall = 30 * time.Second
	}
	if l.Approval == 0 {
		l.Approval = 10 * time.Minute
	}
	if l.Pause == 0 {
		l.Pause = 30 * time.Minute
	}
	if l.StepCalls == 0 {
		l.StepCalls = 16
	}
	return l
}

func (l Limits) check() error {
	if l.StepCalls < 1 || l.StepCalls > 1_000 {
		return fmt.Errorf("%d tool calls of one step at once are not within 1 and 1,000", l.StepCalls)
	}
	return nil
}
