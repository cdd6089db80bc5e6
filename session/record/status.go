package record

import (
	"errors"

	"github.com/agentworker/worker/eventbus/event"
)

// Status is the state of a session. It is queued, then running, and waiting_approval now
// and then. It ends in one of the others, and never leaves that.
type Status = event.Status

// The states of a record.
const (
	Queued          = event.StatusQueued
	Running         = event.StatusRunning
	WaitingApproval = event.StatusWaitingApproval
	Completed       = event.StatusCompleted
	Failed          = event.StatusFailed
	Cancelled       = event.StatusCancelled
	TimedOut        = event.StatusTimedOut
	Interrupted     = event.StatusInterrupted
)

// StopReason returns why a session has ended as it has. answer is what its last turn says of
// an answer; empty means that it has given none.
func StopReason(as Status, why error, answer event.StopReason) event.StopReason {
	switch as {
	case TimedOut:
		return event.StopTime
	case Cancelled, Interrupted:
		return event.StopStopped
	case Completed:
		return answer
	}
	if coded, ok := errors.AsType[interface {
		error
		StopReason() event.StopReason
	}](why); ok {
		return coded.StopReason()
	}
	return ""
}
