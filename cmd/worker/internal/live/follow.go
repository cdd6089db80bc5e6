package live

import (
	"context"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Read returns the fact that a delivery of the stream of a root session tells.
func Read(root string, d eventbus.Delivery) (Fact, error) {
	around, ev, err := d.Event()
	if err != nil {
		return Fact{}, err
	}
	path := []string{root}
	for _, a := range around {
		path = append(path, a.SessionID)
	}
	return Fact{Path: path, Event: ev, At: d.Time, Seq: d.Seq}, nil
}

// pace is for how long facts are collected, and most how many at once.
const (
	pace = 50 * time.Millisecond
	most = 1000
)

// Collect hands on what comes, several at a time where much comes, until ctx ends.
func Collect[T any](ctx context.Context, from <-chan T, to func([]T)) {
	for {
		var batch []T
		select {
		case first := <-from:
			batch = append(batch, first)
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(pace)
		for open := true; open && len(batch) < most; {
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

// Follow hands on the facts of the stream of a root session from a sequence number on,
// until that session or ctx ends. It returns the sequence number from which on it has
// handed on nothing.
func Follow(ctx context.Context, bus *eventbus.Bus, root string, from uint64, to func(Fact)) (next uint64, err error) {
	path := event.Path{{SessionID: root}}
	for d, err := range bus.Follow(ctx, path, &eventbus.FollowOptions{From: from, Live: true}) {
		if err != nil {
			return from, err
		}
		if fact, err := Read(root, d); err == nil { // of what can't be read there is nothing to show
			to(fact)
		}
		if from = d.Seq + 1; d.Ends() {
			return from, nil
		}
	}
	return from, nil
}
