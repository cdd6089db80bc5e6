package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// world is a store with outages, the processes that use it, and their sessions.
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
	lost   bool // its process knows that it was claimed, and has not ended it
	halted bool // its process has stopped it
}

// proc is one process. It implements [table].
type proc struct {
	w      *world
	bootID string
	keeper *Keeper

	duration time.Duration // of its lease; 0 means MinDuration

	// The world's mu guards these.
	frozen bool // its calls wait
	cut    int  // they wait, too, while it is not zero: it has not reconnected to the store
	killed time.Time
	absent bool // it was frozen long enough to be considered dead
}

func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

// call runs f in the store after a short delay, and returns after another one. Both
// wait while the store is away or p does not run.
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
		last, complete := uint64(0), false
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
			if !complete {
				found, complete = append(found, change{}), true
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
	p.keeper, err = Start(ctx, b, Options{BootID: p.bootID, Duration: p.duration, Claimed: p.claimed, Sweep: sweep})
	return err
}

// newWorld returns an available store, and processes with a session each.
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

func (p *proc) claimed(ctx context.Context, all bool) error {
	return p.call(ctx, func() error {
		if s := p.w.sessions[p.bootID]; all || s.ends > 0 {
			s.halted, s.lost = true, true
		}
		return nil
	})
}

// sweep recovers the sessions that others have left, with one call for each step.
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
