package record

import (
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
