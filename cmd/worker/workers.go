package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/store"
)

func (p *program) workersCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers that run agents in this workspace",
		Long: `Lists the processes that run agents in this workspace now, on this machine and with
--nats on others, and says where their agents differ. One that was killed on another
machine is listed for some 20 seconds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				workers, err := sessions.Leases.Workers(ctx)
				if err != nil {
					return err
				}
				return p.listWorkers(workers, asJSON, wide)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the workers, and which of them have the same agents, as one JSON document")
	app.RegisterWide(cmd, &wide)
	return cmd
}

func (p *program) listWorkers(workers []*lease.Worker, asJSON, wide bool) error {
	sets := agentSets(workers)
	if asJSON {
		err := p.PrintJSON(struct {
			Workers   []*lease.Worker `json:"workers"`
			AgentSets []agentSet      `json:"agentSets"`
		}{append([]*lease.Worker{}, workers...), append([]agentSet{}, sets...)}, true)
		if err != nil {
			return err
		}
	}
	if len(workers) == 0 {
		fmt.Fprintln(p.Stderr, "no worker runs agents here: worker serve starts one")
		return nil
	}
	if !asJSON {
		t := &terminal.Table{
			Header: []string{"BOOT", "HOST", "PID", "VERSION", "AGENTS", "SNAPSHOT", "RUNNING", "QUEUED", "ON NATS", "STARTED"},
			Drop:   []string{"QUEUED", "ON NATS", "AGENTS", "VERSION"},
		}
		for _, one := range workers {
			t.Add(one.BootID, termtext.OneLine(one.Host, termtext.MaxName), strconv.Itoa(one.PID), terminal.Dash(termtext.OneLine(one.Version, termtext.MaxColumn)),
				strconv.Itoa(one.Agents), fmt.Sprintf("%d %s", one.SnapshotVersion, terminal.Dash(short(one.Fingerprint))),
				fmt.Sprintf("%d/%d", one.Running, one.Capacity), strconv.Itoa(one.Queued),
				map[bool]string{true: "yes", false: "no"}[one.Serving], one.StartedAt.Local().Format(time.DateTime))
		}
		if err := p.PrintTable(t, wide); err != nil {
			return err
		}
	}
	if len(sets) > 1 {
		fmt.Fprintf(p.Stderr, "worker: these workers do not have the same agents, with the same rules and --max-depth; what a call gets depends on the one that runs it:\n")
		for _, set := range sets {
			fmt.Fprintf(p.Stderr, "worker:   %s: %s\n", short(set.Fingerprint), strings.Join(set.Workers, ", "))
		}
	}
	return nil
}

// agentSet is workers that have the same agents.
type agentSet struct {
	Fingerprint string   `json:"fingerprint"`
	Workers     []string `json:"workers"` // boot ids
}

// agentSets sorts workers by what agents they have, those of the most workers
// first. A worker that has not said what it has is left out.
func agentSets(workers []*lease.Worker) []agentSet {
	var sets []agentSet
	for _, w := range workers {
		if w.Fingerprint == "" {
			continue
		}
		i := slices.IndexFunc(sets, func(s agentSet) bool { return s.Fingerprint == w.Fingerprint })
		if i < 0 {
			i = len(sets)
			sets = append(sets, agentSet{Fingerprint: w.Fingerprint})
		}
		sets[i].Workers = append(sets[i].Workers, w.BootID)
	}
	slices.SortStableFunc(sets, func(a, b agentSet) int { return cmp.Compare(len(b.Workers), len(a.Workers)) })
	return sets
}

// short is the part of a fingerprint that people compare.
func short(fingerprint string) string { return fingerprint[:min(8, len(fingerprint))] }
