package lease

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAssureWhileAway checks that, during an outage, the first event waits for a renewal
// and later ones do not. The lease is renewed once the store is available again.
func TestAssureWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, procs := newWorld(1)
		if err := procs[0].start(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		k := procs[0].keeper
		k.Stop() // from now on it renews only on demand
		w.change(func() { w.down = true })
		<-time.After(MinDuration)
		began := time.Now()
		for range 5 {
			k.Assure(t.Context())
		}
		if waited := time.Since(began); waited != Renewal {
			t.Errorf("five events waited for %s, want %s together", waited, Renewal)
		}
		w.change(func() { w.down = false })
		<-time.After(Renewal)
		before := *k.sign.Load()
		k.Assure(t.Context())
		if !k.sign.Load().After(before) {
			t.Error("the store is there, and this process has not renewed its lease")
		}
	})
}
