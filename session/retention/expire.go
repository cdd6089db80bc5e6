package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// Limits say when ended root sessions are deleted, with those below them. The zero value
// keeps all of them.
type Limits struct {
	Age time.Duration // time from the root session's end to its deletion; 0 means never

	// Bytes bounds what events and messages occupy in the embedded store. The root session
	// that ended first is deleted first. 0 means no bound. It has no effect in an external
	// server, whose streams hold other workspaces, too.
	Bytes uint64
}

const (
	// expireSlice is how long sessions are deleted before a pause of expirePause. So what
	// others ask of the store need not wait for all deletions.
	expireSlice = 50 * time.Millisecond
	expirePause = 25 * time.Millisecond
)

// Expire deletes the sessions that the limits no longer keep at now, and returns how many.
// Its cost depends on what it deletes: records are in the order of their last change, so
// sessions that ended first come first. A record that [integrity.Checker.Rebuild] has
// stored again moves back, so it may stay for up to another Age.
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

// rest waits for an expirePause if the slice has lasted an expireSlice.
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

// exceeds reports whether the embedded store holds more than limit bytes; 0 means no limit.
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
