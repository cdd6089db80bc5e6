package embedded

import (
	"runtime/debug"
	"testing"
)

// TestNextGC: the more is in use, the smaller is the share of garbage, down to a bound, and
// as far as collecting it takes little.
func TestNextGC(t *testing.T) {
	for _, tt := range []struct {
		share int
		took  float64 // of a processor's time
		inUse uint64  // in MiB
		want  int
	}{
		{100, 0, 0, 100}, {100, 0, 24, 100}, {100, 0, 48, 50}, {100, 0, 1000, 30}, // idle
		{100, 0.05, 48, 50}, {100, 0.06, 48, 60}, {60, 0.1, 48, 60}, {30, 0.2, 48, 60},
		{100, 0.3, 1000, 100}, {30, 0.5, 1000, 100},
	} {
		if got := nextGC(tt.share, tt.took, tt.inUse<<20); got != tt.want {
			t.Errorf("%+v: %d %%", tt, got)
		}
	}
}

// TestHoldMemory: closing the last store of a process restores its share of garbage. A share
// that the user has chosen never changes.
func TestHoldMemory(t *testing.T) {
	share := func() int {
		now := debug.SetGCPercent(usualGC)
		debug.SetGCPercent(now)
		return now
	}
	before := share()
	defer debug.SetGCPercent(before)
	debug.SetGCPercent(usualGC)
	first, second := holdMemory(t.TempDir()), holdMemory(t.TempDir())
	first.release()
	if holders.count != 1 {
		t.Errorf("%d stores hold it, want 1", holders.count)
	}
	debug.SetGCPercent(tightGC) // as of much history
	second.release()
	if got := share(); got != usualGC {
		t.Errorf("%d %% after the last store, want %d", got, usualGC)
	}
	debug.SetGCPercent(77)
	chosen := holdMemory(t.TempDir())
	if got := share(); got != 77 {
		t.Errorf("%d %% with a store, want 77, which was chosen", got)
	}
	chosen.release()
	if got := share(); got != 77 {
		t.Errorf("%d %% behind it, want 77", got)
	}
}
