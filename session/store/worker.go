package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// workerSchema is the version of the stored form of a [Worker].
const workerSchema = 1

// Worker is what a process that runs sessions tells of itself for as long as it
// lives: the content of its entry in the bucket AGENT_WORKERS, which goes when
// it is not renewed. Its JSON is camelCase.
type Worker struct {
	Schema    int       `json:"schema"`
	BootID    string    `json:"bootId"`
	Workspace string    `json:"workspace"`
	Host      string    `json:"host"` // name of the machine
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt"`
	RenewedAt time.Time `json:"renewedAt"`

	WorkerLoad
}

// WorkerLoad is the part of a [Worker] that its process reports: session.Manager's
// Report.
type WorkerLoad struct {
	Version         string `json:"version"`         // of the program
	SnapshotVersion uint64 `json:"snapshotVersion"` // of the agents in force; counts from 1 in each process
	Fingerprint     string `json:"fingerprint"`     // of the same: equal for the same agents
	Agents          int    `json:"agents"`
	Capacity        int    `json:"capacity"` // children that may run at once
	Running         int    `json:"running"`
	Queued          int    `json:"queued"`  // tasks that wait for a place
	Serving         bool   `json:"serving"` // takes task requests over NATS
}

// Workers returns the processes that run sessions of the workspace now, the
// oldest first.
func (s *Store) Workers(ctx context.Context) ([]*Worker, error) {
	entries, err := s.entries(ctx, s.leases)
	if err != nil {
		return nil, fmt.Errorf("listing workers: %w", err)
	}
	var workers []*Worker
	for _, e := range entries {
		l := new(Lease)
		if json.Unmarshal(e.value, l) != nil || l.Over() { // a form of a later version: nothing is known of it
			continue
		}
		workers = append(workers, &l.Worker)
	}
	slices.SortFunc(workers, func(a, b *Worker) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.BootID, b.BootID))
	})
	return workers, nil
}
