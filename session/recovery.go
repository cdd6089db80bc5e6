package session

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/session/store"
)

// recoverer ends or resumes the sessions of processes that have died, and ends sessions of this
// process that it has lost. Lock mu guards lost; running is held while sessions are recovered.
type recoverer struct {
	store     *store.Store
	keeper    *lease.Keeper
	log       *slog.Logger
	retention retention.Limits
	swept     chan struct{} // has a value after a sweep

	takesOver bool             // this process resumes sessions: see [Options]
	lease     time.Duration    // of this process: see [Options]
	adopts    chan struct{}    // closed once adopter is set
	adopter   recovery.Adopter // nil means that sessions are ended

	running sync.Mutex
	mu      sync.Mutex
	lost    map[string]journal.Lost // by the ids of sessions
}

func newRecovery(sessions *store.Store, opts *Options, log *slog.Logger) *recoverer {
	return &recoverer{
		store: sessions, log: log, retention: opts.Retention, swept: make(chan struct{}, 1),
		takesOver: opts.TakesOver, lease: opts.Lease, adopts: make(chan struct{}), lost: make(map[string]journal.Lost),
	}
}

// adoptWith begins to resume sessions, by a.
func (r *recoverer) adoptWith(ctx context.Context, a recovery.Adopter) {
	r.adopter = a
	close(r.adopts)
	r.sweep(ctx, r.keeper)
}

// sweep ends or resumes the sessions of processes that have died, and ends lost ones of this
// process. After it, deleteOld deletes expired ones.
func (r *recoverer) sweep(ctx context.Context, k *lease.Keeper) (done bool) {
	n, err := r.endLost(ctx, k, false)
	if ctx.Err() != nil {
		return false
	}
	if n > 0 {
		r.log.Warn("sessions were interrupted: their process has gone", "sessions", n)
	}
	if err != nil {
		r.log.Warn("looking for sessions to end", "err", err)
		return false
	}
	select {
	case r.swept <- struct{}{}:
	default:
	}
	return true
}

// deleteOld deletes what is kept no longer, after each sweep, until ctx ends. The sweeps don't
// wait for it: it may take minutes if much has piled up.
func (r *recoverer) deleteOld(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.swept:
		}
		_, err := r.store.Retention.Expire(ctx, r.retention, time.Now())
		if err == nil {
			_, err = r.store.Retention.CleanUp(ctx)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("looking for sessions to delete", "err", err)
		}
	}
}

// recover is [store.Store.Recovery.RecoverAs], once at a time. leave leaves the sessions of others.
func (r *recoverer) recover(ctx context.Context, k *lease.Keeper, leave bool, lost func(id string) *record.Record) (ended int, err error) {
	r.running.Lock()
	defer r.running.Unlock()
	if !leave {
		if leave, err = r.leavesOthers(ctx); err != nil {
			return 0, err
		}
	}
	return r.store.Recovery.RecoverAs(ctx, k, recovery.Options{Lost: lost, Adopter: r.adopter, Leave: leave})
}

// leavesOthers waits until it is known how the sessions of others are recovered. It reports
// whether they are left to another process, which resumes them.
func (r *recoverer) leavesOthers(ctx context.Context) (bool, error) {
	if !r.takesOver {
		return r.store.Leases.HasResumer(ctx)
	}
	select {
	case <-r.adopts:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (r *recoverer) lose(l journal.Lost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost[l.ID] = l
}

// left reports whether a lost session has not ended.
func (r *recoverer) left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lost) > 0
}

// endLost ends the lost sessions of this process of which nothing is on its way, and the
// sessions of processes that have died. leave leaves the latter.
func (r *recoverer) endLost(ctx context.Context, k *lease.Keeper, leave bool) (ended int, err error) {
	r.mu.Lock()
	all := maps.Clone(r.lost)
	r.mu.Unlock()
	ends := make(map[string]*record.Record)
	for id, l := range all {
		if l.Settled() {
			ends[id] = l.End()
		}
	}
	if ended, err = r.recover(ctx, k, leave, func(id string) *record.Record { return ends[id] }); err != nil {
		return ended, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range ends {
		delete(r.lost, id)
	}
	return ended, nil
}

// belowPause is the pause between two attempts to end what is lost below a session.
const belowPause = 100 * time.Millisecond

// endBelow returns once the lost sessions below that of a journal have ended: a session ends
// after those below it. What is on its way there is stored before the end above.
func (r *recoverer) endBelow(j *journal.Journal) error {
	if !r.lostBelow(j.Path) {
		return nil
	}
	ctx, cancel := j.StoreContext()
	defer cancel()
	for {
		_, err := r.endLost(ctx, r.keeper, true)
		if !r.lostBelow(j.Path) {
			return nil
		}
		select {
		case <-time.After(belowPause):
		case <-ctx.Done():
			if err == nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("session %s: a session below it has not ended in the event store: %w", j.ID, err)
		}
	}
}

func (r *recoverer) lostBelow(path event.Path) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lost {
		if len(l.Path) > len(path) && slices.Equal(l.Path[:len(path)], path) && l.Settled() {
			return true
		}
	}
	return false
}
