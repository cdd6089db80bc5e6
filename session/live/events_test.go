package live

import "testing"

// TestFolds: the projection says of each type of event what it changes, or that it changes nothing.
func TestFolds(t *testing.T) {
	for _, missing := range folds.Missing() {
		t.Errorf("events.go has no row for %s", missing)
	}
}
