package tui

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/follow"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Messages of a [Feed].
type (
	// Listed is a list of the sessions.
	Listed struct {
		Records []*record.Record
		Facts   []live.Event // of what those do that run already
		Pending []*approval.Approval
		Lost    map[string]bool // boot ids of killed processes, if no worker runs that would end their sessions
	}

	// Facts is what was heard of sessions since.
	Facts []live.Event

	// Trouble is why the shown state may be old. The next Listed ends it.
	Trouble struct{ Err error }
)

// Feed follows the sessions of a workspace: it lists them now and then, and reads the
// streams of the running ones.
type Feed struct {
	Bus   *eventbus.Bus
	Store *store.Store
	Keep  time.Duration // how long sessions that have ended are listed; 0 means for ever

	facts     chan live.Event
	followers sync.WaitGroup
	mu        sync.Mutex
	next      map[string]uint64 // the sequence number, by root, from which it is followed
	follows   map[string]bool   // roots that are followed now
	newest    uint64            // in the store when it was last listed; 0 means never
}

const (
	// between is the time between two lists. It is at least share times as long as a list
	// has taken: a large one is read less often.
	between = time.Second
	share   = 10

	// shown is how many sessions are listed at most.
	shown = index.MaxPage

	// patience is how long a list may take before that is shown.
	patience = 5 * time.Second
)

// Run sends lists and events, until ctx ends.
func (f *Feed) Run(ctx context.Context, send func(tea.Msg)) {
	f.facts = make(chan live.Event, 64)
	f.next, f.follows = make(map[string]uint64), make(map[string]bool)
	ctx, stop := context.WithCancel(ctx)
	defer f.followers.Wait()
	defer stop()
	f.followers.Go(func() { follow.Batch(ctx, f.facts, func(facts []live.Event) { send(Facts(facts)) }) })
	for ctx.Err() == nil {
		began := time.Now()
		slow := time.AfterFunc(patience, func() { send(Trouble{errSlow}) })
		listed, err := f.list(ctx)
		slow.Stop()
		if err == nil {
			send(*listed)
			f.follow(ctx, listed.Records)
		} else {
			send(Trouble{err})
		}
		timer := time.NewTimer(max(between, share*time.Since(began)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

type slowError struct{}

func (slowError) Error() string { return "the store does not answer" }

var errSlow slowError

// list lists the sessions.
func (f *Feed) list(ctx context.Context) (*Listed, error) {
	newest, err := f.Bus.Newest(ctx) // before they are listed: what comes later is followed
	if err != nil {
		return nil, err
	}
	o := index.ListOptions{Limit: shown, Nested: true}
	if f.Keep > 0 {
		o.Since = time.Now().Add(-f.Keep)
	}
	page, err := f.Store.Index.Page(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &Listed{Records: page.Sessions, Lost: make(map[string]bool)}
	boots := make(map[string]bool)
	for _, r := range l.Records {
		if r.Status.Ended() {
			continue
		}
		boots[r.BootID] = true
		facts, err := f.doing(ctx, r)
		if err != nil {
			return nil, err
		}
		l.Facts = append(l.Facts, facts...)
	}
	for id := range boots {
		if l.Lost[id], err = f.Store.Leases.Abandoned(ctx, id); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(l.Records, func(r *record.Record) bool { return r.Status == record.WaitingApproval }) {
		if l.Pending, err = f.Store.Approvals.Pending(ctx); err != nil {
			return nil, err
		}
	}
	f.mark(l.Records, newest)
	return l, nil
}

// mark notes where following begins. A root that ran before the first list was read is
// followed from newest on, a later one from its start.
func (f *Feed) mark(records []*record.Record, newest uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	running := make(map[string]bool)
	for _, r := range records {
		if r.Status.Ended() {
			continue
		}
		root := r.Path[0].SessionID
		running[root] = true
		if _, ok := f.next[root]; ok {
			continue
		}
		f.next[root] = 0
		if f.newest == 0 {
			f.next[root] = newest + 1
		}
	}
	f.newest = max(newest, 1)
	maps.DeleteFunc(f.next, func(root string, _ uint64) bool { return !running[root] && !f.follows[root] })
}

// doing returns what a session does that runs already when top begins.
func (f *Feed) doing(ctx context.Context, r *record.Record) ([]live.Event, error) {
	f.mu.Lock()
	early := f.newest == 0
	f.mu.Unlock()
	if !early {
		return nil, nil
	}
	at, err := f.Bus.LastTime(ctx, r.Path)
	if err != nil || at.IsZero() {
		return nil, err
	}
	var facts []live.Event
	add := func(ev event.Event) { facts = append(facts, live.Event{Path: r.Path, Event: ev, Time: at}) }
	status, call, err := f.Store.Index.Doing(ctx, r)
	if err != nil {
		return nil, err
	}
	if status.Status != "" {
		add(status)
	}
	if call.ToolCallID != "" {
		add(call)
	}
	if last, err := f.Bus.Last(ctx, r.Path, event.CommandStart{}.Type()); err != nil {
		return nil, err
	} else if last.Seq != 0 {
		state, err := f.Store.Index.State(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		for _, c := range state.Commands {
			if !c.Lost {
				add(c.CommandStart)
				add(event.CommandProgress{CommandID: c.CommandID, Line: c.Line, Waits: c.Waits})
			}
		}
	}
	budget, err := f.Bus.Last(ctx, r.Path, event.Budget{}.Type())
	if err != nil || budget.Seq == 0 {
		return facts, err
	}
	if ev, err := event.Decode(budget.Raw); err == nil { // of what can't be read there is nothing to show
		add(ev)
	}
	return facts, nil
}

// follow follows the roots that run, and are not followed.
func (f *Feed) follow(ctx context.Context, records []*record.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		root := r.Path[0].SessionID
		from, wanted := f.next[root]
		if !wanted || f.follows[root] || r.Status.Ended() {
			continue
		}
		f.follows[root] = true
		f.followers.Go(func() {
			next, err := follow.Session(ctx, f.Bus, root, from, func(fact live.Event) {
				select {
				case f.facts <- fact:
				case <-ctx.Done():
				}
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.follows, root)
			if err != nil { // the next list has it followed again
				f.next[root] = next
			}
		})
	}
}
