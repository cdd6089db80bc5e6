package retention

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRetentionInSlices: deletions pause for 25 ms after at most 50 ms and one more
// deletion. A pause ends with its context.
func TestRetentionInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one = 20 * time.Millisecond // of a deletion
		p := pace{time.Now()}
		worked, pauses := time.Duration(0), 0
		for range 30 {
			<-time.After(one)
			worked += one
			before := time.Now()
			if err := p.rest(t.Context()); err != nil {
				t.Fatal(err)
			}
			switch paused := time.Since(before); {
			case paused == 0 && worked >= expireSlice:
				t.Fatalf("%s without a pause", worked)
			case paused > 0 && (worked < expireSlice || paused != expirePause):
				t.Fatalf("a pause of %s after %s", paused, worked)
			case paused > 0:
				worked = 0
				pauses++
			}
		}
		if pauses != 10 {
			t.Errorf("%d pauses, want 10", pauses)
		}
		<-time.After(expireSlice)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.rest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a pause after its context: %v", err)
		}
	})
}
