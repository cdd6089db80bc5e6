package record

import (
	"github.com/agentworker/worker/eventbus/event"
)

// Status is the state of a session: queued, then running, waiting_approval now and then
// in between. It ends in one of the others, which nothing changes any more.
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
