// Package store opens what is stored of sessions: one handle for each thing that can be asked.
// It runs no session: any process of a workspace can open it.
package store

import (
	"context"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/integrity"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/session/transcript"
)

// Store has the handles to what is stored of a workspace's sessions.
type Store struct {
	Index       *index.Index         // records and logs
	Approvals   *approval.Bucket     // calls that wait for an answer
	Leases      *lease.Bucket        // of the processes that run sessions
	Requests    *requests.Sender     // to those processes
	Transcripts *transcript.Reader   // what was said
	Notices     *outcome.Notices     // of the ends of sessions in the background
	Integrity   *integrity.Checker   // what is missing or damaged
	Recovery    *recovery.Recovery   // ends or resumes what other processes have left
	Retention   *retention.Retention // deletes sessions
}

// Open makes sure of the buckets and returns the store of the bus's workspace.
func Open(ctx context.Context, bus *eventbus.Bus) (*Store, error) {
	s := new(Store)
	err := bus.Election().Opening(ctx, func(ctx context.Context) (err error) {
		if s.Index, err = index.Open(ctx, bus); err != nil {
			return err
		}
		if s.Approvals, err = approval.Open(ctx, bus, s.Index); err != nil {
			return err
		}
		s.Leases, err = lease.Open(ctx, bus)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Requests = requests.NewSender(bus, s.Index)
	s.Transcripts = transcript.NewReader(bus, s.Index)
	s.Notices = outcome.NewNotices(s.Index, s.Transcripts)
	s.Integrity = integrity.NewChecker(bus, s.Index)
	s.Recovery = recovery.New(bus, s.Index, s.Approvals, s.Leases, s.Requests, s.Notices)
	s.Retention = retention.New(bus, s.Index, s.Approvals)
	return s, nil
}
