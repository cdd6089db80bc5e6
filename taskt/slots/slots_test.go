package slots

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// TestQueueIsFair: parents that wait for slots get them in turn, and the children of
// one parent in their order (O13, D4).
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1, 2)
		first := p.Try("a", 1)
		var order []string
		given := make(chan *Slot)
		for _, who := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			go func() {
				s, err := p.Wait(t.Context(), who[:1], 1)
				if err != nil {
					t.Error(err)
				}
				order = append(order, who)
				given <- s
			}()
			synctest.Wait()
		}
		if l := p.Load(); l != (Load{Capacity: 1, Running: 1, Queued: 6}) {
			t.Errorf("%+v", l)
		}
		first.Release()
		for range 6 {
			(<-given).Release()
		}
		if want := []string{"a1", "b1", "c1", "a2", "b2", "a3"}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
		if l := p.Load(); l != (Load{Capacity: 1}) || len(p.depths[0].queues) != 0 {
			t.Errorf("at the end: %+v, %d parents", l, len(p.depths[0].queues))
		}
	})
}

// TestQueueGivesUp: who gives up waiting holds up nobody.
func TestQueueGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1, 1)
		first := p.Try("a", 1)
		gone, leave := context.WithCancelCause(t.Context())
		why := errors.New("gone")
		go func() {
			if _, err := p.Wait(gone, "b", 1); err != why {
				t.Errorf("%v, want %v", err, why)
			}
		}()
		synctest.Wait()
		given := make(chan *Slot)
		go func() {
			s, err := p.Wait(t.Context(), "c", 1)
			if err != nil {
				t.Error(err)
			}
			given <- s
		}()
		synctest.Wait()
		leave(why)
		synctest.Wait()
		first.Release()
		(<-given).Release()
		if l := p.Load(); l != (Load{Capacity: 1}) {
			t.Errorf("%+v", l)
		}
	})
}

// TestFullSays: where a call in the background finds no slot, it is told the cap, who
// holds it and what to do (D4).
func TestFullSays(t *testing.T) {
	p := New(1, 3, 2)
	for i, id := range []string{"ses_1", "ses_2"} {
		s := p.Try("a", 1)
		if s == nil {
			t.Fatal(i)
		}
		s.SetBackground("explore", id)
	}
	if p.Try("a", 1) != nil {
		t.Fatal("a third slot for one parent")
	}
	other := p.Try("b", 1)
	for parent, want := range map[string]string{
		"a": "2 subagents of yours run, and no more may at once (--max-per-parent); yours are explore in session ses_1, explore in session ses_2. " +
			"Wait for one with task_wait, stop one with task_stop",
		"c": "3 subagents run, and no more may at once in this worker (--max-children); none of them is yours. Wait for",
	} {
		if got := p.Full(parent, 1).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", parent, got, want)
		}
	}
	if got, want := p.Full("b", 1).Error(), "3 subagents run, and no more may at once in this worker (--max-children); yours are 1 for which your calls wait. "; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	other.Release()
	if p.Try("c", 1) == nil {
		t.Error("no slot after one was given back")
	}
}

// TestSlots: whatever is taken, given up and given back, no cap is exceeded, no slot is
// lost, and nobody waits beside a free one.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		running, perParent := rapid.IntRange(1, 4).Draw(rt, "running"), rapid.IntRange(1, 3).Draw(rt, "perParent")
		steps := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			p := New(1, running, perParent)
			var have []*Slot
			taken := make(chan *Slot, 100)
			waiting := make(map[int]context.CancelFunc)
			settle := func() {
				synctest.Wait()
				for len(taken) > 0 {
					if s := <-taken; s != nil {
						have = append(have, s)
					}
				}
			}
			for i, step := range steps {
				switch {
				case step < 6: // one of three parents takes one
					ctx, cancel := context.WithCancel(t.Context())
					waiting[i] = cancel
					go func() {
						s, _ := p.Wait(ctx, string(rune('a'+step/2)), 1)
						taken <- s
					}()
				case step < 10 && len(have) > 0:
					have[0].Release()
					have = have[1:]
				case step >= 10:
					if cancel := waiting[i-3]; cancel != nil {
						cancel()
					}
				}
				settle()
				by := make(map[string]int)
				for _, s := range have {
					by[s.parentID]++
					if by[s.parentID] > perParent || len(have) > running {
						t.Fatalf("%d run, %v of one parent", len(have), by)
					}
				}
				l := p.Load()
				if l.Running != len(have) {
					t.Fatalf("%+v, and %d run", l, len(have))
				}
				for parent, q := range p.depths[0].queues {
					if len(q.waiting) > 0 && len(have) < running && by[parent] < perParent {
						t.Fatalf("%s waits beside a free slot: %d run, %v", parent, len(have), by)
					}
				}
			}
			for _, cancel := range waiting {
				cancel()
			}
			settle()
			for _, s := range have {
				s.Release()
			}
			if l := p.Load(); l.Running+l.Queued != 0 || len(p.depths[0].queues) != 0 {
				t.Fatalf("at the end: %+v", l)
			}
		})
	})
}
