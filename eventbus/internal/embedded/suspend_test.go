package embedded_test

import (
	"context"
	"testing"
	"time"
)

// TestSuspend: a process that is suspended hands the store over, and does not run it again
// until it is resumed.
func TestSuspend(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	first, second := open(t, dir), open(t, dir)
	if !first.Leads() {
		t.Fatal("the first one does not lead")
	}
	if err := first.Suspend(ctx); err != nil {
		t.Fatal(err)
	}
	second.reach(ctx, t)
	if first.Leads() || !second.Leads() {
		t.Errorf("the suspended one leads: %v, the other: %v", first.Leads(), second.Leads())
	}
	if waited := time.Since(first.StoppedAt()); waited > time.Minute {
		t.Errorf("its time counts: %s", waited)
	}
	if err := second.Suspend(ctx); err != nil {
		t.Fatal(err)
	}
	first.Resume()
	first.reach(ctx, t)
	if !first.Leads() || second.Leads() {
		t.Errorf("the resumed one leads: %v, the suspended one: %v", first.Leads(), second.Leads())
	}
	second.reach(ctx, t) // it follows meanwhile
}

// reach returns when the store answers.
func (m *member) reach(ctx context.Context, t *testing.T) {
	t.Helper()
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Second) // it may be sent to a process that has exited
		_, err := m.js.AccountInfo(attempt)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}
