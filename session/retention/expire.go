package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// Retention says when sessions that have ended are deleted, with those below
// them. The zero value: never.
type Limits struct {
	Age time.Duration // deleted so long after the root session's end; 0 means never

	// Bytes bounds what the events and messages take in the embedded store: the
	// root session that ended first is deleted first. 0 means no bound. In an
	// external server, whose streams hold other workspaces too, it has no effect.
	Bytes uint64
}

const (
	// expireSlice is how long sessions are deleted without a pause, and expirePause
	// how long that is: what others ask of the store is not behind all of it.
	expireSlice = 50 * time.Millisecond
	expirePause = 25 * time.Millisecond
)

// Expire deletes the sessions that the retention no longer keeps at a time, and
// returns how many. It costs what it deletes: the records are in the order of their
// last change, so those that ended first come first. One that was stored anew later,
// by [Store.Rebuild], is kept for so long again at most.
func (ret *Retention) Expire(ctx context.Context, keep Limits, now time.Time) (deleted int, err error) {
	if keep.Age <= 0 && keep.Bytes == 0 {
		return 0, nil
	}
	pace := pace{time.Now()}
	for r, err := range ret.index.ByChange(ctx) {
		if err != nil {
			return deleted, err
		}
		if !r.Closed {
			continue
		}
		if keep.Age <= 0 || now.Sub(r.EndedAt) < keep.Age {
			if large, err := ret.exceeds(ctx, keep.Bytes); err != nil || !large {
				return deleted, err // all further sessions are kept
			}
		}
		if r.Depth > 0 { // it goes with its root
			continue
		}
		n, err := ret.deleteTree(ctx, r)
		deleted += n
		if err != nil && !errors.Is(err, ErrRunning) {
			return deleted, err
		}
		if err := pace.rest(ctx); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// pace divides long work into slices.
type pace struct{ began time.Time } // the slice

// rest waits for an expirePause where the slice has taken an expireSlice.
func (p *pace) rest(ctx context.Context) error {
	if time.Since(p.began) < expireSlice {
		return nil
	}
	select {
	case <-time.After(expirePause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.began = time.Now()
	return nil
}

// exceeds reports whether the embedded store holds more than limit bytes; 0 means no
// limit.
func (ret *Retention) exceeds(ctx context.Context, limit uint64) (bool, error) {
	if limit == 0 || !ret.bus.Health().Embedded {
		return false, nil
	}
	var total uint64
	for _, name := range []string{eventbus.Stream, eventbus.PayloadStream} {
		stream, err := ret.bus.JetStream().Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // nothing was ever stored there
		}
		if err != nil {
			return false, fmt.Errorf("measuring the stream %s: %w", name, err)
		}
		total += stream.CachedInfo().State.Bytes
	}
	return total > limit, nil
}
