package store

import (
	"context"
	"errors"

	"github.com/agentworker/worker/session/lease"
)

// BeforeEnd has f called when s has marked a session as its own to end, and not yet
// ended it.
func BeforeEnd(s *Store, f func(id string)) { s.beforeEnd = f }

// RecoverListed is [Store.Recover] with something done behind the first list of what is
// open.
func RecoverListed(ctx context.Context, s *Store, then func()) (int, error) {
	by, err := lease.Start(ctx, s.leases, lease.Options{BootID: NewID("boot")})
	if err != nil {
		return 0, err
	}
	listed := false
	n, err := s.adopt(ctx, by, func(ctx context.Context) ([]orphan, error) {
		open, err := s.open(ctx)
		if !listed {
			listed = true
			then()
		}
		return open, err
	}, RecoverOptions{}, true)
	return n, errors.Join(err, by.Close(ctx, false))
}
