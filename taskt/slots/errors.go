package slots

import (
	"errors"
	"fmt"
)

// The errors of a call that gets no slot.
var (
	ErrClosed = errors.New("the worker is shutting down")

	// ErrFull is the error of a call that does not wait for a slot. Within a worker it is a
	// [FullError].
	ErrFull = errors.New("no worker of the workspace has a free slot: make the call without background, and it waits for one, or later")

	ErrLost = errors.New("the worker that the call was handed to does not answer: it is not known whether the call runs")
)

// FullError is the [ErrFull] of one worker. It says what runs there.
type FullError struct {
	Limit     int    // how many run at once
	PerParent bool   // the limit is per caller; else the worker's
	Yours     string // the caller's children in the background
	Waited    int    // how many more of the caller's run, for which its calls wait
}

// Is reports whether target is [ErrFull].
func (e *FullError) Is(target error) bool { return target == ErrFull }

func (e *FullError) Error() string {
	what := fmt.Sprintf("%d subagents run, and no more may at once in this worker (--max-children)", e.Limit)
	if e.PerParent {
		what = fmt.Sprintf("%d subagents of yours run, and no more may at once (--max-per-parent)", e.Limit)
	}
	switch {
	case e.Yours == "" && e.Waited == 0:
		what += "; none of them is yours"
	case e.Yours == "":
		what += fmt.Sprintf("; yours are %d for which your calls wait", e.Waited)
	case e.Waited == 0:
		what += "; yours are " + e.Yours
	default:
		what += fmt.Sprintf("; yours are %s, and %d more for which your calls wait", e.Yours, e.Waited)
	}
	return what + ". Wait for one with task_wait, stop one with task_stop, or make the call without background: then it waits for its turn"
}
