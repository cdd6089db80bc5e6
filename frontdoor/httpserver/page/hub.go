package page

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

const (
	// maxRows bounds the sessions that the tree begins with, and endedRows those that have
	// ended that it keeps; up to cutRows more until they are forgotten.
	maxRows   = 1000
	endedRows = 1500
	cutRows   = 500

	// beat is how often a browser is told what has changed at most.
	beat = 200 * time.Millisecond

	// linger is how long the events are followed without a browser, so that one that
	// reconnects gets only what it lacks.
	linger = 30 * time.Second

	// levelBeats is once in how many beats it is asked how much of budgets is used.
	levelBeats = 5

	// lookups is how many records are looked up in a beat, and recordTries how often one
	// is that does not tell of its session's end yet.
	lookups     = 20
	recordTries = 50
)

// hub keeps the rows of the tree for all browsers: it follows the events of the workspace
// once, while there is a browser.
type hub struct {
	sessions *store.Store
	bus      *eventbus.Bus
	level    func(id string) (event.Budget, bool) // nil means it is not known
	log      *slog.Logger

	mu        sync.Mutex
	closed    bool
	watching  int                // browsers
	idle      time.Time          // since when there are none
	stop      context.CancelFunc // of the run; nil means there is none
	loaded    chan struct{}      // closed once the run has the rows, or has failed
	changed   chan struct{}      // closed with the next change
	epoch     uint64             // counts the runs
	revision  uint64             // counts the changes of a run
	rows      map[string]*Row
	approvals []*store.Approval
	asked     uint64 // the revision of the approvals
	agents    uint64 // the revision of the last change of agents
	cut       uint64 // the revision at which rows were forgotten last: a browser that was there before begins anew
	runs      sync.WaitGroup
}

func newHub(sessions *store.Store, bus *eventbus.Bus, level func(string) (event.Budget, bool), log *slog.Logger) *hub {
	return &hub{sessions: sessions, bus: bus, level: level, log: log, epoch: uint64(time.Now().UnixMilli())}
}

// close ends what runs, and waits for it.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	if h.stop != nil {
		h.stop()
	}
	h.mu.Unlock()
	h.runs.Wait()
}

// enter counts a browser, and returns when the rows are there. It wants leave.
func (h *hub) enter(ctx context.Context) error {
	h.mu.Lock()
	h.watching++
	if h.closed {
		h.mu.Unlock()
		return caller.ErrClosed
	}
	if h.stop == nil {
		h.begin()
	}
	loaded := h.loaded
	h.mu.Unlock()
	select {
	case <-loaded:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watching--; h.watching == 0 {
		h.idle = time.Now()
	}
}

// begin starts a run. The caller holds h.mu.
func (h *hub) begin() {
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.loaded, h.changed = make(chan struct{}), make(chan struct{})
	h.epoch++
	h.revision, h.asked, h.agents, h.cut = 1, 1, 1, 0
	h.rows, h.approvals = make(map[string]*Row), nil
	h.runs.Go(func() {
		err := h.run(ctx)
		if err != nil && ctx.Err() == nil {
			h.log.Error("following the sessions for the page", "err", err)
		}
		stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stop = nil
		close(h.changed) // who waits sees that the run is over
		select {
		case <-h.loaded:
		default:
			close(h.loaded)
		}
	})
}

// run loads the rows and follows the events, until ctx ends or there is no browser.
func (h *hub) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	from, err := h.load(ctx)
	if err != nil {
		return err
	}
	close(h.loaded)
	var ticks sync.WaitGroup
	defer ticks.Wait()
	defer stop()
	ticks.Go(func() { h.tick(ctx, stop) })
	for ev, err := range h.bus.FollowAll(ctx, from) {
		if err != nil {
			return err
		}
		if err := h.take(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// load reads what there is, and returns the sequence number that events count from.
func (h *hub) load(ctx context.Context) (from uint64, err error) {
	newest, err := h.bus.Newest(ctx)
	if err != nil {
		return 0, err
	}
	page, err := h.sessions.Page(ctx, store.ListOptions{Limit: maxRows, Nested: true})
	if err != nil {
		return 0, err
	}
	rows := make(map[string]*Row)
	for _, rec := range page.Sessions {
		row := &Row{Revision: 1}
		row.take(rec)
		rows[rec.ID] = row
		if rec.Status.Ended() {
			continue
		}
		for entry, err := range h.bus.Log(ctx, rec.Path) {
			if err != nil {
				return 0, err
			}
			if !entry.Event {
				continue
			}
			ev, err := event.Decode(entry.Data)
			if err != nil {
				return 0, err
			}
			row.apply(entry.Seq, entry.Time, ev)
		}
		if row.EndedAt != 0 {
			row.unindexed = recordTries
		}
	}
	pending, err := h.sessions.Approvals(ctx)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows, h.approvals = rows, pending
	return newest + 1, nil
}

// take adds an event to the rows.
func (h *hub) take(ctx context.Context, placed eventbus.Placed) error {
	_, ev, err := placed.Event()
	if err != nil {
		return err
	}
	switch ev.(type) {
	case event.ToolApprovalRequired, event.ToolApprovalResolved:
		if err := h.ask(ctx); err != nil {
			return err
		}
	case event.AgentsChanged:
		h.change(func() { h.agents = h.revision })
		return nil
	}
	id := placed.Sessions[len(placed.Sessions)-1]
	if id == event.WorkspaceStream {
		return nil
	}
	h.change(func() {
		row := h.rows[id]
		if row == nil {
			row = &Row{ID: id, Root: placed.Sessions[0], Status: store.Queued, CreatedAt: millis(placed.Time), unindexed: 1}
			h.rows[id] = row
		}
		ended := row.EndedAt != 0
		row.apply(placed.Seq, placed.Time, ev)
		row.Revision = h.revision
		if !ended && row.EndedAt != 0 {
			row.unindexed = recordTries
			h.forget()
		}
	})
	return nil
}

// ask reads the approvals that wait again.
func (h *hub) ask(ctx context.Context) error {
	pending, err := h.sessions.Approvals(ctx)
	if err == nil {
		h.change(func() { h.approvals, h.asked = pending, h.revision })
	}
	return err
}

// change makes a change that browsers are told of.
func (h *hub) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revision++
	do()
	close(h.changed)
	h.changed = make(chan struct{})
}

// forget drops the sessions that ended first, where there are too many: many at once,
// since browsers are sent all rows then. Those above a session that goes on stay. The
// caller holds h.mu.
func (h *hub) forget() {
	if len(h.rows) <= endedRows+cutRows {
		return
	}
	var ended []*Row
	above := make(map[string]bool)
	for _, row := range h.rows {
		if row.EndedAt != 0 {
			ended = append(ended, row)
			continue
		}
		for id := row.ParentID; id != "" && !above[id] && h.rows[id] != nil; id = h.rows[id].ParentID {
			above[id] = true
		}
	}
	ended = slices.DeleteFunc(ended, func(r *Row) bool { return above[r.ID] })
	if len(ended) <= endedRows+cutRows {
		return
	}
	slices.SortFunc(ended, func(a, b *Row) int { return cmp.Compare(a.EndedAt, b.EndedAt) })
	for _, row := range ended[:len(ended)-endedRows] {
		delete(h.rows, row.ID)
	}
	h.cut = h.revision
}

// deleted drops a session that was deleted, and those below it. Browsers are sent all rows
// that are left.
func (h *hub) deleted(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		return // the next run reads what there is
	}
	var gone []string
	for _, row := range h.rows {
		for at := row; at != nil; at = h.rows[at.ParentID] {
			if at.ID == id {
				gone = append(gone, row.ID)
			}
		}
	}
	for _, id := range gone {
		delete(h.rows, id)
	}
	h.revision++
	h.cut = h.revision
	close(h.changed)
	h.changed = make(chan struct{})
}

// tick looks up records that tell more than events do, and ends the run once there has
// been no browser for a while.
func (h *hub) tick(ctx context.Context, stop func()) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for beats := 1; ; beats++ {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.mu.Lock()
			idle := h.watching == 0 && now.Sub(h.idle) > linger
			var ids []string
			for id, row := range h.rows {
				if row.unindexed > 0 && len(ids) < lookups {
					row.unindexed--
					ids = append(ids, id)
				}
			}
			h.mu.Unlock()
			if idle {
				stop()
				return
			}
			for _, id := range ids {
				h.look(ctx, id)
			}
			if beats%levelBeats == 0 {
				h.levels()
			}
		}
	}
}

// levels adds how much of their budgets the sessions of this process have used.
func (h *hub) levels() {
	if h.level == nil {
		return
	}
	h.mu.Lock()
	old := make(map[string]budget)
	for id, row := range h.rows {
		if row.EndedAt != 0 {
			continue
		}
		if old[id] = (budget{}); row.Budget != nil {
			old[id] = *row.Budget
		}
	}
	h.mu.Unlock()
	changed := make(map[string]*budget)
	for id, was := range old {
		if ev, ok := h.level(id); ok && *budgetOf(ev) != was {
			changed[id] = budgetOf(ev)
		}
	}
	if len(changed) == 0 {
		return
	}
	h.change(func() {
		for id, is := range changed {
			if row := h.rows[id]; row != nil && row.EndedAt == 0 {
				row.Budget, row.Revision = is, h.revision
			}
		}
	})
}

// look adds what the record of a session says. A record that cannot be read is asked for
// again, a few times.
func (h *hub) look(ctx context.Context, id string) {
	rec, err := h.sessions.Get(ctx, id)
	if err != nil {
		h.log.Debug("looking up a session for the page", "session", id, "err", err)
		return
	}
	h.change(func() {
		row := h.rows[id]
		if row == nil || row.EndedAt != 0 && !rec.Status.Ended() {
			return
		}
		row.take(rec)
		row.unindexed, row.Revision = 0, h.revision
	})
}
