package log

import "testing"

// TestEventFolds: the fold says of each type of event what it changes, or that it changes nothing.
func TestEventFolds(t *testing.T) {
	for _, missing := range eventFolds.Missing() {
		t.Errorf("events.go has no row for %s", missing)
	}
}
