package recovery

import (
	"context"
	"errors"

	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
)

// BeforeEnd has f called when s has marked a session as its own to end, but has not ended
// it.
func BeforeEnd(s *Recovery, f func(id string)) { s.beforeEnd = f }

// RecoverListed is [Recovery.Recover] that calls then after it first lists the open
// sessions.
func RecoverListed(ctx context.Context, s *Recovery, then func()) (int, error) {
	by, err := lease.Start(ctx, s.leases, lease.Options{BootID: record.NewID("boot")})
	if err != nil {
		return 0, err
	}
	listed := false
	n, err := s.recover(ctx, by, func(ctx context.Context) ([]index.Stored, error) {
		open, err := s.index.Unended(ctx)
		if !listed {
			listed = true
			then()
		}
		return open, err
	}, Options{}, true)
	return n, errors.Join(err, by.Close(ctx, false))
}
