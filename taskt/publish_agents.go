package taskt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/masking"
)

// Agents is where the agents in force come from.
type Agents interface {
	Snapshot() *agentdefs.Snapshot

	// Changes yields the snapshot in force, and then each later one, until ctx ends or there
	// will be no more.
	Changes(ctx context.Context) iter.Seq[agentdefs.Change]
}

// maxDiagnostics bounds the diagnostics of one agents_changed event, which must fit into a
// message.
const maxDiagnostics = 200

// flushTime bounds the wait for the last events to be stored.
const flushTime = 10 * time.Second

// PublishAgents publishes each new snapshot as an agents_changed event on the workspace's own
// stream. It returns when [Agents.Changes] has ended and all events are stored. An event that
// can't be stored is logged.
//
// The snapshot in force at the start is left out if the last stored event has the same
// definitions.
func PublishAgents(ctx context.Context, agents Agents, bus *eventbus.Bus, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var publisher *eventbus.Publisher // nil means not opened yet, or failed
	var err error
	first := true
	for change := range agents.Changes(ctx) {
		ev := agentsChanged(change)
		if first {
			first = false
			last, err := lastPublished(ctx, bus)
			if err != nil {
				log.Error("publishing the agents", "err", err)
			}
			if last != nil && last.Fingerprint == ev.Fingerprint {
				continue
			}
			if last != nil {
				ev.Added, ev.Removed = without(ev.Agents, last.Agents), without(last.Agents, ev.Agents)
			}
		}
		if publisher == nil {
			if publisher, err = bus.Publisher(event.WorkspacePath()); err != nil {
				log.Error("publishing the agents", "err", err)
				continue
			}
		}
		shown, _ := masking.Event(ev)
		if err := publisher.Publish(context.WithoutCancel(ctx), shown); err != nil {
			log.Error("publishing the agents", "version", ev.Version, "err", err)
			publisher = nil
		}
	}
	if publisher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := publisher.Flush(ctx); err != nil {
		log.Error("publishing the agents", "err", err)
	}
}

// lastPublished returns the newest stored event, or nil.
func lastPublished(ctx context.Context, bus *eventbus.Bus) (*event.AgentsChanged, error) {
	newest, err := bus.Last(ctx, event.WorkspacePath(), event.AgentsChanged{}.Type())
	if err != nil || newest.Seq == 0 {
		return nil, err
	}
	ev, err := event.Decode(newest.Raw)
	if err != nil {
		return nil, err
	}
	last, ok := ev.(event.AgentsChanged)
	if !ok {
		return nil, fmt.Errorf("the last event of the workspace is a %s", ev.Type())
	}
	return &last, nil
}

func agentsChanged(c agentdefs.Change) event.AgentsChanged {
	ev := event.AgentsChanged{
		Version:     c.Snapshot.Version,
		Agents:      []string{},
		Added:       append([]string{}, c.Added...),
		Changed:     append([]string{}, c.Changed...),
		Removed:     append([]string{}, c.Removed...),
		Diagnostics: []json.RawMessage{},
		Fingerprint: c.Snapshot.Fingerprint(),
	}
	for _, d := range c.Snapshot.Agents() {
		ev.Agents = append(ev.Agents, d.Name)
	}
	rank := []agentdefs.Severity{agentdefs.Error, agentdefs.Warning, agentdefs.Information}
	found := c.Snapshot.Diagnostics()
	slices.SortStableFunc(found, func(a, b agentdefs.Diagnostic) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
	if len(found) > maxDiagnostics {
		ev.DiagnosticsOmitted = len(found) - maxDiagnostics
		found = found[:maxDiagnostics]
	}
	for _, d := range found {
		data, err := json.Marshal(d)
		if err != nil { // texts and numbers always have a JSON form
			panic(err)
		}
		ev.Diagnostics = append(ev.Diagnostics, data)
	}
	return ev
}

// without returns the names that are not among others. Both are sorted.
func without(names, others []string) []string {
	left := []string{}
	for _, name := range names {
		if _, found := slices.BinarySearch(others, name); !found {
			left = append(left, name)
		}
	}
	return left
}
