// Package recovery ends or resumes the sessions that other processes have left. It also
// stops sessions whose own process does not stop them.
package recovery

import (
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
)

// Recovery ends and resumes sessions on behalf of their processes.
type Recovery struct {
	StopGrace time.Duration        // how long [Recovery.Stop] waits for the session's own process to end it; 0 means [StopGrace]
	Ended     func(*record.Record) // called with each session that is ended for a process that has exited; nil means not called

	bus       *eventbus.Bus
	index     *index.Index
	approvals *approval.Bucket
	leases    *lease.Bucket
	requests  *requests.Sender
	notices   *outcome.Notices
	stuck     sync.Map        // ids of sessions that this process has claimed but could neither resume nor end
	beforeEnd func(id string) // for tests: called between the claim of a record and its session's end; nil means not called
}

// New returns a recovery. Set its exported fields before you use it.
func New(bus *eventbus.Bus, records *index.Index, approvals *approval.Bucket, leases *lease.Bucket, requests *requests.Sender, notices *outcome.Notices) *Recovery {
	return &Recovery{bus: bus, index: records, approvals: approvals, leases: leases, requests: requests, notices: notices}
}
