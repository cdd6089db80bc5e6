package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const (
	processes = 5
	reconnect = 6 * time.Second                // at most, once the store is back
	bound     = 2*MinDuration + 30*time.Second // for ending the sessions of killed processes
)

// fault makes the store or a process stop for some time.
type fault struct {
	proc     int // counted from 1; 0 means the store
	at, last time.Duration
}

// drawFaults draws what happens to the store and to the processes. kills has the times
// at which processes are killed; the first process is never killed or stopped.
func drawFaults(rt *rapid.T) (faults []fault, kills map[int]time.Duration) {
	seconds := func(from, to int, label string) time.Duration {
		return time.Duration(rapid.IntRange(from*10, to*10).Draw(rt, label)) * time.Second / 10
	}
	for range rapid.IntRange(0, 3).Draw(rt, "outages") {
		faults = append(faults, fault{0, seconds(0, 120, "at"), seconds(0, 60, "for")})
	}
	kills = make(map[int]time.Duration)
	for i := 1; i < processes; i++ {
		switch rapid.IntRange(0, 3).Draw(rt, "fate") {
		case 1:
			kills[i] = seconds(0, 120, "killed at")
		case 2:
			faults = append(faults, fault{i + 1, seconds(0, 120, "stopped at"), seconds(0, 8, "briefly")})
		case 3:
			faults = append(faults, fault{i + 1, seconds(0, 120, "stopped at"), seconds(9, 60, "for")})
		}
	}
	return faults, kills
}

// outages injects faults, and counts the outages of the store that overlap.
type outages struct {
	w     *world
	procs []*proc
	tasks sync.WaitGroup
	down  int
	back  time.Time // when the store was last available again
}

// inject runs the faults and kills, and returns when the last one is over.
func (o *outages) inject(faults []fault, kills map[int]time.Duration) {
	for _, f := range faults {
		o.tasks.Go(func() {
			<-time.After(f.at)
			o.w.change(func() { o.begin(f) })
			<-time.After(f.last)
			o.w.change(func() { o.end(f) })
		})
	}
	for i, at := range kills {
		o.tasks.Go(func() {
			<-time.After(at)
			o.w.change(func() { o.procs[i].killed = time.Now() })
		})
	}
	o.tasks.Wait()
}

// begin stops what a fault stops. The caller holds the world's mu.
func (o *outages) begin(f fault) {
	if f.proc == 0 {
		o.down++
		o.w.down = true
		return
	}
	p := o.procs[f.proc-1]
	p.frozen, p.absent = true, p.absent || f.last > 8*time.Second
}

// end undoes begin. The processes reconnect to the store one after the other. The caller
// holds the world's mu.
func (o *outages) end(f fault) {
	if f.proc > 0 {
		o.procs[f.proc-1].frozen = false
		return
	}
	if o.down--; o.down > 0 {
		return
	}
	o.w.down, o.back = false, time.Now()
	for _, p := range o.procs {
		p.cut++
		o.tasks.Go(func() {
			<-time.After(rand.N(reconnect))
			o.w.change(func() { p.cut-- })
		})
	}
}

// check notes the sessions that did not end as they must. The store has been available
// since back.
func (w *world) check(back time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong := func(format string, args ...any) { w.wrong = append(w.wrong, fmt.Sprintf(format, args...)) }
	for _, bootID := range slices.Sorted(maps.Keys(w.sessions)) {
		s, p := w.sessions[bootID], w.procs[bootID]
		from := p.killed
		if from.Before(back) {
			from = back
		}
		switch {
		case s.ends > 1:
			wrong("the session of %s has %d ends", bootID, s.ends)
		case !p.killed.IsZero() && s.ends == 0:
			wrong("the session of %s, which was killed, has no end", bootID)
		case !p.killed.IsZero() && s.ended.Sub(from) > bound:
			wrong("the session of %s, which was killed, was ended after %s", bootID, s.ended.Sub(from))
		case p.killed.IsZero() && s.ends > 0 && !s.halted:
			wrong("%s, which runs, continues its session that was ended", bootID)
		}
	}
}

// TestOutages checks that no outage of the store, and no stopped process, lets a process
// end the session of one that runs. The session of a killed process is ended once, in time.
func TestOutages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		faults, kills := drawFaults(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			w, procs := newWorld(processes)
			ctx, cancel := context.WithCancel(t.Context())
			for _, p := range procs {
				if err := p.start(ctx, p.sweep); err != nil {
					t.Fatal(err)
				}
			}
			o := &outages{w: w, procs: procs, back: time.Now()}
			o.inject(faults, kills)
			<-time.After(bound)
			cancel()
			for _, p := range procs {
				p.keeper.Stop()
			}
			synctest.Wait()
			w.check(o.back)
			wrong = w.wrong
		})
		for _, what := range wrong {
			rt.Error(what)
		}
	})
}

// TestDuration: a process is considered dead after its own duration. The duration of whoever looks
// does not count.
func TestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, procs := newWorld(3)
		patient, usual, looks := procs[0], procs[1], procs[2]
		patient.duration, looks.duration = time.Minute, MaxDuration
		ctx, cancel := context.WithCancel(t.Context())
		for _, p := range procs {
			if err := p.start(ctx, p.sweep); err != nil {
				t.Fatal(err)
			}
		}
		w.change(func() { patient.frozen, usual.frozen = true, true })
		<-time.After(MinDuration + 10*time.Second)
		w.change(func() {
			if w.sessions[usual.bootID].ends != 1 || w.sessions[patient.bootID].ends != 0 {
				t.Errorf("after 30 s: ends %d of the usual one, %d of the patient one", w.sessions[usual.bootID].ends, w.sessions[patient.bootID].ends)
			}
		})
		<-time.After(time.Minute)
		w.change(func() {
			if w.sessions[patient.bootID].ends != 1 {
				t.Error("the patient one was not considered dead after its minute")
			}
			patient.frozen, usual.frozen = false, false
		})
		cancel()
		for _, p := range procs {
			p.keeper.Stop()
		}
	})
}

// TestHeld checks how often the sessions of a dead process are looked at while they can't
// be ended, because a session below them runs elsewhere: again and again, with pauses.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, procs := newWorld(2)
		dead, looks := procs[0], procs[1]
		ctx, cancel := context.WithCancel(t.Context())
		claims := 0
		held := func(ctx context.Context, k *Keeper) bool {
			claimed, err := k.Claim(ctx, dead.bootID)
			if claimed {
				claims++
			}
			return errors.Join(err, k.Release(ctx, false)) == nil
		}
		for _, err := range []error{dead.start(ctx, dead.sweep), looks.start(ctx, held)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		w.change(func() { dead.killed = time.Now() })
		const watched = 5 * time.Minute
		<-time.After(watched)
		cancel()
		for _, p := range procs {
			p.keeper.Stop()
		}
		if most := int(watched / MinDuration); claims < 2 || claims > most {
			t.Errorf("%d claims in %s, want 2 to %d", claims, watched, most)
		}
	})
}
