package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/store"
)

// Manager opens sessions and knows those that run in this process.
type Manager struct {
	bus        *eventbus.Bus
	store      *store.Store
	paths      permission.Workspace
	policy     gate.Policy
	models     models.Models
	window     func(string) int64
	approver   gate.Approver
	unattended bool
	alone      bool
	audit      audit.Recorder
	limits     Limits
	retention  store.Retention
	log        *slog.Logger
	bootID     string
	keeper     *lease.Keeper
	index      *store.Index
	requests   *requests.Listener
	recovering sync.Mutex  // held while the sessions of others are ended
	cleans     atomic.Bool // this process has begun a session that is deleted once its result was delivered
	adoption

	swept chan struct{} // has a value behind a sweep

	totals totals

	mu   sync.Mutex
	live map[string]*Session
	lost map[string]lostSession
}

// OpenManager opens the session store of the bus's workspace, and takes a lease
// there: as long as this process renews it, its sessions are its own. It wants
// Close before the bus is closed.
func OpenManager(ctx context.Context, opts Options) (*Manager, error) {
	limits := opts.Limits.withDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	sessions, err := store.Open(ctx, opts.Bus)
	if err != nil {
		return nil, err
	}
	sessions.NoteEnds(opts.EndNotes)
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{
		bus:        opts.Bus,
		store:      sessions,
		paths:      opts.Workspace,
		policy:     gate.Policy{Above: opts.Policy, Static: opts.Static, File: opts.RulesFile, Log: log},
		models:     models.Models{Named: opts.Model, Own: opts.Own, Prices: opts.Prices},
		window:     opts.Window,
		approver:   opts.Approver,
		unattended: opts.Unattended,
		alone:      opts.Alone,
		audit:      audit.Recorder{Log: opts.Audit, Logger: log},
		limits:     limits,
		retention:  opts.Retention,
		adoption:   adoption{takesOver: opts.TakesOver, adopts: make(chan struct{})},
		log:        log,
		bootID:     store.NewID("boot"),
		swept:      make(chan struct{}, 1),
		live:       make(map[string]*Session),
		lost:       make(map[string]lostSession),
	}
	sessions.TellEnds(func(r *store.Record) { m.note(EndRecord(r)) })
	m.index = sessions.StartIndex(m.log)
	if m.keeper, err = startKeeper(ctx, m); err != nil {
		return nil, errors.Join(err, m.index.Close(ctx))
	}
	if m.requests, err = requests.Listen(m.bus.Conn(), m.store, m.bootID, requested{m}, m.log); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close returns when the records of its sessions are stored, and gives the lease
// back. Other processes then take this one for gone, so end its sessions first.
// Without Close that happens after [lease.Time].
func (m *Manager) Close() error {
	if m.requests != nil {
		m.requests.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), store.WriteTimeout)
	defer cancel()
	if m.cleans.Load() { // what is left is for the sweeps of others
		if _, err := m.store.CleanUp(ctx); err != nil {
			m.log.Warn("deleting sessions whose results were delivered", "err", err)
		}
	}
	// The records before the lease: without it their sessions count as lost.
	err := m.index.Close(ctx)
	m.mu.Lock()
	left := len(m.live) > 0 || len(m.lost) > 0
	m.mu.Unlock()
	return errors.Join(err, m.keeper.Close(ctx, left))
}

// Report has load's answer stored with the lease, now and at each renewal, for
// who lists workers.
func (m *Manager) Report(ctx context.Context, load func() lease.Load) { m.keeper.Report(ctx, load) }

// Live returns a session that runs in this process.
func (m *Manager) Live(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.live[id]
	return s, ok
}

// Store returns the stored sessions.
func (m *Manager) Store() *store.Store { return m.store }

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, id)
}
