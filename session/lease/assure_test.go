package lease

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAssureWhileAway: while the store is away a process that would show that it is alive
// waits once, and not with every event. It shows it once the store is there.
func TestAssureWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, procs := newWorld(1)
		if err := procs[0].start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		k := procs[0].keeper
		k.Stop() // it renews when it is told to alone
		w.change(func() { w.down = true })
		time.Sleep(Time)
		began := time.Now()
		for range 5 {
			k.Assure(t.Context())
		}
		if took := time.Since(began); took != Renewal {
			t.Errorf("five events waited for %s, want %s together", took, Renewal)
		}
		w.change(func() { w.down = false })
		time.Sleep(Renewal)
		before := *k.sign.Load()
		k.Assure(t.Context())
		if !k.sign.Load().After(before) {
			t.Error("the store is there, and this process gives no sign")
		}
	})
}
