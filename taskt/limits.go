package taskt

import (
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/taskt/input"
)

// Limits bound the children of a worker. A zero value means the default.
type Limits struct {
	// ChildTime is the time limit of a child whose file has none: 1 s to 24 h; 5 min. The
	// wait for a slot or an approval does not count.
	ChildTime time.Duration

	// BackgroundTime is the same for a child in the background: 30 min.
	BackgroundTime time.Duration

	// Most bounds all time limits, of files and of calls too. 0 means 24 h, for sessions with
	// a time limit.
	Most time.Duration

	// Stall is the time without an event after which a session is reported as stalled, if its
	// file has none: 1 s to 24 h. After the same time again it is stopped. 0 means it is not.
	Stall time.Duration

	// StallNotice is the same for sessions that are not stopped for it: 1 s to 24 h; 0 means
	// never.
	StallNotice time.Duration

	// Depth is how deep sessions may nest: 1 to 5; 1, so that a child makes no
	// children.
	Depth int

	// Running bounds the children that run at once: 1 to 10,000; 10. Each depth has so many
	// slots of its own. Otherwise a child could hold the slot for which its children wait.
	Running int

	// PerParent bounds the children of one parent that run at once: 1 to
	// 10,000; 5.
	PerParent int

	// Takeovers is how often a child may be claimed after its process has ended: 0 to 10; 0
	// means never.
	Takeovers int
}

func (l Limits) withDefaults() Limits {
	if l.ChildTime == 0 {
		l.ChildTime = 5 * time.Minute
	}
	if l.BackgroundTime == 0 {
		l.BackgroundTime = 30 * time.Minute
	}
	if l.Depth == 0 {
		l.Depth = 1
	}
	if l.Running == 0 {
		l.Running = 10
	}
	if l.PerParent == 0 {
		l.PerParent = 5
	}
	return l
}

// within returns the time limit that counts for a session; 0 means it has none.
func (l Limits) within(limit time.Duration) time.Duration {
	if l.Most > 0 && (limit == 0 || limit > l.Most) {
		return l.Most
	}
	return min(limit, input.MaxTime)
}

// OpenCalls returns how many calls, or clients, one front door holds open at once: enough for
// all children that may run and as many that wait, and 100 at least.
func (l Limits) OpenCalls() int { return max(100, 2*l.withDefaults().Running) }

// maxDepth is how deep nesting may be made.
const maxDepth = 5

// Check returns an error that names the first limit out of its range.
func (l Limits) Check() error {
	l = l.withDefaults()
	switch {
	case l.ChildTime < time.Second || l.ChildTime > input.MaxTime:
		return fmt.Errorf("the child's time limit of %s is not within 1s and 24h", errtext.Duration(l.ChildTime))
	case l.BackgroundTime < time.Second || l.BackgroundTime > input.MaxTime:
		return fmt.Errorf("the time limit of %s of a child in the background is not within 1s and 24h", errtext.Duration(l.BackgroundTime))
	case l.Stall != 0 && (l.Stall < time.Second || l.Stall > input.MaxTime):
		return fmt.Errorf("the time of %s after which a subagent has stalled is not within 1s and 24h", errtext.Duration(l.Stall))
	case l.StallNotice != 0 && (l.StallNotice < time.Second || l.StallNotice > input.MaxTime):
		return fmt.Errorf("the time of %s after which a subagent is said to have stalled is not within 1s and 24h", errtext.Duration(l.StallNotice))
	case l.Depth < 1 || l.Depth > maxDepth:
		return fmt.Errorf("the nesting depth %d is not within 1 and %d", l.Depth, maxDepth)
	case l.Running < 1 || l.Running > 10_000:
		return fmt.Errorf("%d children at once are not within 1 and 10,000", l.Running)
	case l.PerParent < 1 || l.PerParent > 10_000:
		return fmt.Errorf("%d children at once per parent are not within 1 and 10,000", l.PerParent)
	case l.Takeovers < 0 || l.Takeovers > 10:
		return fmt.Errorf("%d takeovers of a subagent are not within 0 and 10", l.Takeovers)
	}
	return nil
}
