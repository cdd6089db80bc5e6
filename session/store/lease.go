package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// LeaseTTL is how long a process counts as alive after its last sign. It is
// the time to live of the keys in [leaseBucket].
const LeaseTTL = 10 * time.Second

// ErrNoLease is returned for a lease that has run out, or was given back.
var ErrNoLease = errors.New("the process has no lease")

// Lease is the sign that a process is alive, stored under its boot id.
type Lease struct {
	Worker
	Machine string `json:"machine"` // where PID means something
}

// NewLease returns a lease of this process, which counts once it is taken.
func (s *Store) NewLease(bootID string) *Lease {
	now := time.Now().UTC()
	host, _ := os.Hostname() // for people
	return &Lease{
		Worker: Worker{
			Schema: workerSchema, BootID: bootID, Workspace: s.workspace, Host: host, PID: os.Getpid(), StartedAt: now, RenewedAt: now,
		},
		Machine: machine(),
	}
}

// Over reports whether the lease's process is known to have ended: one of this
// machine that is not there any more. Of all others only time can tell.
func (l *Lease) Over() bool {
	return l.PID > 0 && l.Machine != "" && l.Machine == machine() && processGone(l.PID)
}

// TakeLease stores l and returns its revision.
func (s *Store) TakeLease(ctx context.Context, l *Lease) (uint64, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return 0, fmt.Errorf("taking the lease of this process: %w", err)
	}
	rev, err := s.leases.Create(ctx, s.key(l.BootID), data)
	if err != nil {
		return 0, fmt.Errorf("taking the lease of this process: %w", err)
	}
	return rev, nil
}

// RenewLease stores l in place of the lease of revision rev, and returns its new
// revision. It fails with [ErrNoLease] where none is stored.
func (s *Store) RenewLease(ctx context.Context, l *Lease, rev uint64) (uint64, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return 0, err
	}
	next, err := s.leases.Update(ctx, s.key(l.BootID), data, rev)
	if !eventbus.IsConflict(err) {
		return next, err
	}
	entry, err := s.leases.Get(ctx, s.key(l.BootID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, ErrNoLease
	}
	if err != nil {
		return 0, err
	}
	return entry.Revision(), nil // renewed, and its acknowledgement lost
}

// DropLease gives the lease of a boot id back.
func (s *Store) DropLease(ctx context.Context, bootID string) error {
	return s.leases.Delete(ctx, s.key(bootID))
}

// WatchLeases returns the leases of the workspace, and each change of one. The
// last part of a key is the boot id. Its caller stops it.
func (s *Store) WatchLeases(ctx context.Context) (jetstream.KeyWatcher, error) {
	return s.leases.Watch(ctx, s.key("*"))
}

// alive reports whether the process of a boot id has a lease, and is not known
// to have ended.
func (s *Store) alive(ctx context.Context, bootID string) (bool, error) {
	entry, err := s.leases.Get(ctx, s.key(bootID))
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the process %s: %w", bootID, err)
	}
	var l Lease
	if err := json.Unmarshal(entry.Value(), &l); err != nil {
		return true, nil // the form of a later version counts as alive
	}
	return !l.Over(), nil
}
