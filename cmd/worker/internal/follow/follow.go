// Package follow reads what sessions do, as it happens, for screens.
package follow

import (
	"context"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/live"
)

// Session hands on the events of a root session and of those below it from a sequence number
// on, until that session or ctx ends. It returns the sequence number to continue with.
func Session(ctx context.Context, bus *eventbus.Bus, root string, from uint64, to func(live.Event)) (next uint64, err error) {
	path := event.Path{{SessionID: root}}
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{From: from, Live: true}) {
		if err != nil {
			return from, err
		}
		if ev, err := live.Decode(root, d.Raw, d.Time, d.Seq); err == nil { // what can't be read can't be shown
			to(ev)
		}
		if from = d.Seq + 1; d.Ends() {
			return from, nil
		}
	}
	return from, nil
}

// Bounds of a batch: how long it is collected, and its items.
const (
	batchTime = 50 * time.Millisecond
	batchSize = 1000
)

// Batch hands on what comes, several at a time where much comes, until ctx ends.
func Batch[T any](ctx context.Context, from <-chan T, to func([]T)) {
	for {
		var batch []T
		select {
		case first := <-from:
			batch = append(batch, first)
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(batchTime)
		for open := true; open && len(batch) < batchSize; {
			select {
			case next := <-from:
				batch = append(batch, next)
			case <-timer.C:
				open = false
			case <-ctx.Done():
				timer.Stop()
				return
			}
		}
		timer.Stop()
		to(batch)
	}
}
