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

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

// world is a store that is away at times, the processes that use it, and what they run.
type world struct {
	began time.Time

	mu       sync.Mutex
	leases   map[string]change
	rev      uint64
	changed  chan struct{} // closed at each change of anything
	down     bool
	sessions map[string]*run // by the boot ids of their processes: one for each
	procs    map[string]*proc
	wrong    []string
}

// run is the session of a process.
type run struct {
	ends   int
	ended  time.Time
	lost   bool // its process knows that it was taken, and has not ended it
	halted bool // its process has stopped it
}

// proc is one process. It implements [table].
type proc struct {
	w      *world
	bootID string
	keeper *Keeper

	// The world's mu guards these.
	frozen bool // its calls wait
	cut    int  // they wait, too, while it is not zero: it has not found the store again
	killed time.Time
	absent bool // it was frozen for so long that it may be taken for gone
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

// call has f happen in the store, some time after it was asked for, and returns some
// time after that. Either waits while the store is away or p does not run.
func (p *proc) call(ctx context.Context, f func() error) error {
	var err error
	for _, do := range []func(){func() { err = f() }, func() {}} {
		select {
		case <-time.After(rand.N(50 * time.Millisecond)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for done := false; !done; {
			p.w.mu.Lock()
			changed := p.w.changed
			if done = !p.w.down && p.cut == 0 && !p.frozen && p.killed.IsZero(); done {
				do()
			}
			p.w.mu.Unlock()
			if done {
				break
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return err
}

// put stores a lease. The caller holds w.mu.
func (w *world) put(bootID string, data []byte) uint64 {
	w.rev++
	w.leases[bootID] = change{bootID, data, w.rev}
	close(w.changed)
	w.changed = make(chan struct{})
	return w.rev
}

func (p *proc) create(ctx context.Context, bootID string, data []byte) (rev uint64, err error) {
	return p.update(ctx, bootID, data, 0)
}

func (p *proc) update(ctx context.Context, bootID string, data []byte, rev uint64) (next uint64, err error) {
	err = p.call(ctx, func() error {
		if p.w.leases[bootID].rev != rev {
			return errConflict
		}
		next = p.w.put(bootID, data)
		return nil
	})
	return next, err
}

func (p *proc) get(ctx context.Context, bootID string) (data []byte, rev uint64, err error) {
	err = p.call(ctx, func() error {
		c := p.w.leases[bootID]
		if data, rev = c.data, c.rev; rev == 0 {
			return errNone
		}
		return nil
	})
	return data, rev, err
}

func (p *proc) remove(ctx context.Context, bootID string, rev uint64) error {
	return p.call(ctx, func() error {
		if p.w.leases[bootID].rev <= rev {
			delete(p.w.leases, bootID)
		}
		return nil
	})
}

func (p *proc) watch(ctx context.Context) (<-chan change, error) {
	changes := make(chan change)
	go func() {
		defer close(changes)
		last, whole := uint64(0), false
		for {
			var found []change
			var changed <-chan struct{}
			if p.call(ctx, func() error {
				changed = p.w.changed
				for _, c := range p.w.leases {
					if c.rev > last {
						found = append(found, c)
					}
				}
				return nil
			}) != nil {
				return
			}
			slices.SortFunc(found, func(a, b change) int { return int(a.rev) - int(b.rev) })
			if !whole {
				found, whole = append(found, change{}), true
			}
			for _, c := range found {
				select {
				case changes <- c:
					last = max(last, c.rev)
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes, nil
}

// start runs p until its context ends.
func (p *proc) start(ctx context.Context, sweep func(context.Context, *Keeper) bool) error {
	b := &Bucket{table: p, workspace: "ws", closed: func() <-chan nats.Status { return nil }}
	var err error
	p.keeper, err = Start(ctx, b, Options{BootID: p.bootID, Taken: p.taken, Sweep: sweep})
	return err
}

// newWorld returns a store that is there, and processes with a session each.
func newWorld(processes int) (*world, []*proc) {
	w := &world{
		began: time.Now(), leases: make(map[string]change), changed: make(chan struct{}),
		sessions: make(map[string]*run), procs: make(map[string]*proc),
	}
	var procs []*proc
	for i := range processes {
		p := &proc{w: w, bootID: fmt.Sprint("boot_", i)}
		w.sessions[p.bootID], w.procs[p.bootID] = &run{}, p
		procs = append(procs, p)
	}
	return w, procs
}

func (p *proc) taken(ctx context.Context, all bool) error {
	return p.call(ctx, func() error {
		if s := p.w.sessions[p.bootID]; all || s.ends > 0 {
			s.halted, s.lost = true, true
		}
		return nil
	})
}

// sweep recovers what others have left, one call for each step.
func (p *proc) sweep(ctx context.Context, k *Keeper) bool {
	var open []string
	err := p.call(ctx, func() error {
		for bootID, s := range p.w.sessions {
			if s.ends == 0 && (bootID != p.bootID || s.lost) {
				open = append(open, bootID)
			}
		}
		return nil
	})
	for _, bootID := range open {
		ours := bootID == p.bootID
		if err == nil && !ours {
			ours, err = k.Claim(ctx, bootID)
		}
		if err == nil && ours {
			err = p.call(ctx, func() error { p.w.end(bootID, p.bootID); return nil })
		}
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	releaseErr := k.Release(bounded, err == nil)
	return err == nil && releaseErr == nil
}

// end ends the session of a process. The caller holds w.mu.
func (w *world) end(bootID, by string) {
	s := w.sessions[bootID]
	if s.ends++; s.ends == 1 {
		s.ended = time.Now()
	}
	owner := w.procs[bootID]
	if owner.killed.IsZero() && !owner.absent && bootID != by {
		w.wrong = append(w.wrong, fmt.Sprintf("at %s %s ended the session of %s, which runs", time.Since(w.began), by, bootID))
	}
}

// TestOutages: however long the store is away, and whichever processes are killed or
// stopped meanwhile, nobody ends the session of a process that runs, and that of one
// that does not is ended once and in time.
func TestOutages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type fault struct {
			proc     int // 0 means the store
			at, last time.Duration
		}
		seconds := func(from, to int, label string) time.Duration {
			return time.Duration(rapid.IntRange(from*10, to*10).Draw(rt, label)) * time.Second / 10
		}
		var faults []fault
		for range rapid.IntRange(0, 3).Draw(rt, "outages") {
			faults = append(faults, fault{0, seconds(0, 120, "at"), seconds(0, 60, "for")})
		}
		const (
			processes = 5
			reconnect = 6 * time.Second // at most, once the store is back
		)
		kills := make(map[int]time.Duration)
		for i := 1; i < processes; i++ { // one stays, to look
			switch rapid.IntRange(0, 3).Draw(rt, "fate") {
			case 1:
				kills[i] = seconds(0, 120, "killed at")
			case 2:
				faults = append(faults, fault{i + 1, seconds(0, 120, "stopped at"), seconds(0, 8, "briefly")})
			case 3:
				faults = append(faults, fault{i + 1, seconds(0, 120, "stopped at"), seconds(9, 60, "for")})
			}
		}
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			w, procs := newWorld(processes)
			ctx, cancel := context.WithCancel(t.Context())
			for _, p := range procs {
				if err := p.start(ctx, p.sweep); err != nil {
					t.Fatal(err)
				}
			}
			var acting sync.WaitGroup
			down := 0
			back := time.Now() // when the store was there for good
			for _, f := range faults {
				acting.Go(func() {
					time.Sleep(f.at)
					w.change(func() {
						if f.proc == 0 {
							down++
							w.down = true
							return
						}
						p := procs[f.proc-1]
						p.frozen, p.absent = true, p.absent || f.last > 8*time.Second
					})
					time.Sleep(f.last)
					w.change(func() {
						if f.proc > 0 {
							procs[f.proc-1].frozen = false
							return
						}
						if down--; down > 0 {
							return
						}
						w.down, back = false, time.Now()
						for _, p := range procs {
							p.cut++
							acting.Go(func() {
								time.Sleep(rand.N(reconnect))
								w.change(func() { p.cut-- })
							})
						}
					})
				})
			}
			for i, at := range kills {
				acting.Go(func() {
					time.Sleep(at)
					w.change(func() { procs[i].killed = time.Now() })
				})
			}
			acting.Wait()
			const bound = 2*Time + 30*time.Second
			time.Sleep(bound)
			cancel()
			for _, p := range procs {
				p.keeper.Stop()
			}
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, bootID := range slices.Sorted(maps.Keys(w.sessions)) {
				s, p := w.sessions[bootID], w.procs[bootID]
				from := p.killed
				if from.Before(back) {
					from = back
				}
				switch {
				case s.ends > 1:
					w.wrong = append(w.wrong, fmt.Sprintf("the session of %s has %d ends", bootID, s.ends))
				case !p.killed.IsZero() && s.ends == 0:
					w.wrong = append(w.wrong, fmt.Sprintf("the session of %s, which was killed, has no end", bootID))
				case !p.killed.IsZero() && s.ended.Sub(from) > bound:
					w.wrong = append(w.wrong, fmt.Sprintf("the session of %s, which was killed, was ended after %s", bootID, s.ended.Sub(from)))
				case p.killed.IsZero() && s.ends > 0 && !s.halted:
					w.wrong = append(w.wrong, fmt.Sprintf("%s, which runs, goes on with its session that was ended", bootID))
				}
			}
			wrong = w.wrong
		})
		for _, what := range wrong {
			rt.Error(what)
		}
	})
}

// TestHeld: where sessions of a process that has gone can't be ended yet, since one below
// them runs elsewhere, they are looked at again, and not all the time.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, procs := newWorld(2)
		gone, looks := procs[0], procs[1]
		ctx, cancel := context.WithCancel(t.Context())
		claims := 0
		held := func(ctx context.Context, k *Keeper) bool {
			claimed, err := k.Claim(ctx, gone.bootID)
			if claimed {
				claims++
			}
			return errors.Join(err, k.Release(ctx, false)) == nil
		}
		for _, err := range []error{gone.start(ctx, gone.sweep), looks.start(ctx, held)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		w.change(func() { gone.killed = time.Now() })
		const watched = 5 * time.Minute
		time.Sleep(watched)
		cancel()
		for _, p := range procs {
			p.keeper.Stop()
		}
		if most := int(watched / Time); claims < 2 || claims > most {
			t.Errorf("%d claims in %s, want 2 to %d", claims, watched, most)
		}
	})
}
