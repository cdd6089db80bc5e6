package tokens

import (
	"fmt"
	"testing"
	"time"
)

// TestAttempts: an address that has sent too many wrong tokens waits for the rest of a
// minute; others don't, and however many there are, few are counted.
func TestAttempts(t *testing.T) {
	var a Attempts
	now := time.Unix(1_000_000, 0)
	for i := range maxWrong {
		if wait, _ := a.Wrong(fmt.Sprintf("[2001:db8::%d]:1", i+1), now); wait != 0 {
			t.Fatalf("attempt %d waits %v", i+1, wait)
		}
	}
	if wait, first := a.Wrong("[2001:db8::ffff]:9", now.Add(time.Second)); wait != attemptTime-time.Second || !first {
		t.Errorf("one too many: %v, %v", wait, first)
	}
	if wait, first := a.Wrong("[2001:db8::1]:9", now.Add(time.Second)); wait == 0 || first {
		t.Errorf("one more: %v, %v", wait, first)
	}
	for _, other := range []string{"[2001:db8:0:1::1]:1", "192.0.2.1:1", "pipe"} {
		if wait, _ := a.Wrong(other, now); wait != 0 {
			t.Errorf("%s waits %v", other, wait)
		}
	}
	if wait, _ := a.Wrong("[2001:db8::1]:9", now.Add(attemptTime)); wait != 0 {
		t.Errorf("after a minute: %v", wait)
	}
	var last time.Duration
	for i := range 3 * maxAddresses {
		last, _ = a.Wrong(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256), now.Add(attemptTime))
	}
	if len(a.byWho) > maxAddresses+1 || last == 0 {
		t.Errorf("%d addresses are counted, and the last one waits %v", len(a.byWho), last)
	}
	if wait, _ := a.Wrong("192.0.2.9:1", now.Add(3*attemptTime)); wait != 0 || len(a.byWho) > 1 {
		t.Errorf("later: %v, and %d are counted", wait, len(a.byWho))
	}
}
