package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/session/lifetime"
)

// wait lets time pass in a bubble; none passes outside.
func wait(d time.Duration) { <-time.After(d) }

// TestClockExtend: a clock that gets more time ends that much later, whether it runs or stands
// still. Once the time has passed, it gets none.
func TestClockExtend(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			start, c := time.Now(), lifetime.NewClock(cancel, 5*time.Minute, 0)
			wait(time.Minute)
			if paused {
				c.Pause()
			}
			c.Extend(25 * time.Minute)
			if paused {
				wait(time.Hour)
				c.Resume()
				start = start.Add(time.Hour)
			}
			<-ctx.Done()
			var over *lifetime.TimeLimitError
			if !errors.As(context.Cause(ctx), &over) || over.Limit != 30*time.Minute || time.Since(start) != 30*time.Minute {
				t.Errorf("after %s: %v", time.Since(start), context.Cause(ctx))
			}
			c.Extend(time.Hour)
			if !c.Over() {
				t.Error("its time has passed, and it is not over")
			}
			c.Stop()
		})
	}
}

// TestClockRestart: the time begins anew with another limit, or none; on a clock that stands
// still, too.
func TestClockRestart(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for _, before := range []time.Duration{0, 5 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				c := lifetime.NewClock(cancel, before, 0)
				wait(time.Minute)
				if paused {
					c.Pause()
				}
				c.Restart(0)
				wait(time.Hour)
				c.Restart(20 * time.Minute)
				if paused {
					wait(time.Hour)
					c.Resume()
				}
				start := time.Now()
				<-ctx.Done()
				var over *lifetime.TimeLimitError
				if !errors.As(context.Cause(ctx), &over) || over.Limit != 20*time.Minute || time.Since(start) != 20*time.Minute {
					t.Errorf("after %s: %v", time.Since(start), context.Cause(ctx))
				}
				c.Restart(time.Hour)
				if !c.Over() {
					t.Error("its time has passed, and it is not over")
				}
				c.Stop()
			})
		}
	}
}

// TestClockStandsStill: what a clock measures is the time in which nothing waits.
func TestClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		clock := lifetime.NewClock(cancel, time.Minute, 0)
		wait(40 * time.Second)
		clock.Pause()
		clock.Pause() // a second call waits too
		wait(time.Hour)
		clock.Resume()
		wait(time.Hour)
		clock.Resume()
		resumed := time.Now()
		<-ctx.Done()
		if ran := time.Since(resumed); ran != 20*time.Second {
			t.Errorf("the clock ran for another %s, want 20s", ran)
		}
		clock.Stop()
	})
}
