package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// workerSchema is the version of the stored form of a [Worker].
const workerSchema = 1

// Worker describes a process that runs sessions, while it lives. It is a part of its
// [Lease]. Its JSON is camelCase.
type Worker struct {
	Schema    int       `json:"schema"`
	BootID    string    `json:"bootId"`
	Workspace string    `json:"workspace"`
	Host      string    `json:"host"` // name of the machine
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt"`
	RenewedAt time.Time `json:"renewedAt"`

	Load
}

// Load is the part of a [Worker] that its process reports: session.Manager's
// Report.
type Load struct {
	Version         string `json:"version"`         // of the program
	SnapshotVersion uint64 `json:"snapshotVersion"` // of the agents in force; counts from 1 in each process
	Fingerprint     string `json:"fingerprint"`     // of the same: equal for the same agents
	Agents          int    `json:"agents"`
	Capacity        int    `json:"capacity"` // children that may run at once
	Running         int    `json:"running"`
	Queued          int    `json:"queued"`  // tasks that wait for capacity
	Serving         bool   `json:"serving"` // accepts task requests over NATS
}

// Workers returns the processes that run sessions of the workspace now, the
// oldest first.
func (b *Bucket) Workers(ctx context.Context) ([]*Worker, error) {
	entries, err := b.entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing workers: %w", err)
	}
	var workers []*Worker
	for _, e := range entries {
		l := decode(e.data)
		if l.BootID == "" || l.NoSessions || l.ClaimedBy != "" || e.silence > l.Duration() || l.hasEnded(b.local) { // without an id: of a later version
			continue
		}
		workers = append(workers, &l.Worker)
	}
	slices.SortFunc(workers, func(a, b *Worker) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.BootID, b.BootID))
	})
	return workers, nil
}

// HasResumer reports whether a running process resumes the sessions of others.
func (b *Bucket) HasResumer(ctx context.Context) (bool, error) {
	entries, err := b.entries(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for a worker that resumes sessions: %w", err)
	}
	return slices.ContainsFunc(entries, func(e stored) bool {
		l := decode(e.data)
		return l.Resumes && l.ClaimedBy == "" && e.silence <= l.Duration() && !l.hasEnded(b.local)
	}), nil
}

// Abandoned reports whether the process of a boot id is known to have ended while no
// worker is left to end its sessions.
func (b *Bucket) Abandoned(ctx context.Context, bootID string) (bool, error) {
	data, _, err := b.get(ctx, bootID)
	if errors.Is(err, errNone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the process %s: %w", bootID, err)
	}
	l := decode(data)
	if l.ClaimedBy != "" || !l.hasEnded(b.local) {
		return false, nil
	}
	workers, err := b.Workers(ctx)
	return err == nil && len(workers) == 0, err
}
