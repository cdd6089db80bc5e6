package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestClockExtend: a clock that gets more time ends that much later, also one that
// stands still meanwhile; one whose time has passed gets none.
func TestClockExtend(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			start, c := time.Now(), newClock(cancel, 5*time.Minute, 0)
			time.Sleep(time.Minute)
			if paused {
				c.pause()
			}
			c.extend(25 * time.Minute)
			if paused {
				time.Sleep(time.Hour)
				c.resume()
				start = start.Add(time.Hour)
			}
			<-ctx.Done()
			var over *TimeLimitError
			if !errors.As(context.Cause(ctx), &over) || over.Limit != 30*time.Minute || time.Since(start) != 30*time.Minute {
				t.Errorf("after %s: %v", time.Since(start), context.Cause(ctx))
			}
			c.extend(time.Hour)
			if !c.over() {
				t.Error("its time has passed, and it is not over")
			}
			c.stop()
		})
	}
}
