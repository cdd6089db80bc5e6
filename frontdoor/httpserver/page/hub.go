package page

import (
	"context"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/presence"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

const (
	// maxRows bounds the sessions that the tree begins with.
	maxRows = 1000

	// beat is the shortest time between two updates of a browser.
	beat = 200 * time.Millisecond

	// linger is how long the events are followed without a browser. One that reconnects
	// within that time gets only what it lacks.
	linger = 30 * time.Second

	// budgetBeats is once in how many beats the use of budgets is read.
	budgetBeats = 5
)

// hub keeps the rows of the tree for all browsers: it follows the events of the workspace
// once, while there is a browser.
type hub struct {
	answers
	sessions *store.Store
	bus      *eventbus.Bus
	level    func(id string) (event.Budget, bool) // nil means it is not known
	door     *presence.Door                       // those who may answer

	mu       sync.Mutex
	closed   bool
	watching int                // browsers
	idle     time.Time          // since when there are none
	stop     context.CancelFunc // of the run; nil means there is none
	loaded   chan struct{}      // closed once the run has the rows, or has failed
	changed  chan struct{}      // closed with the next change
	epoch    uint64             // counts the runs
	rows     *rows              // of the run
	running  sync.WaitGroup     // the run
}

func newHub(out answers, sessions *store.Store, bus *eventbus.Bus, level func(string) (event.Budget, bool)) *hub {
	return &hub{answers: out, sessions: sessions, bus: bus, level: level, door: presence.NewDoor(bus), epoch: uint64(time.Now().UnixMilli())}
}

// close ends what runs, and waits for it.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	if h.stop != nil {
		h.stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}

// enter counts a browser, and returns when the rows are there. It wants leave, also after an error.
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
	h.rows = newRows()
	h.running.Go(func() {
		err := h.run(ctx)
		if err != nil && ctx.Err() == nil {
			h.log.Error("following the sessions for the page", "err", err)
		}
		stop()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stop = nil
		close(h.changed) // waiting browsers see that the run is over
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
		if err := h.apply(ctx, ev); err != nil {
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
	page, err := h.sessions.Index.Page(ctx, index.ListOptions{Limit: maxRows, Nested: true})
	if err != nil {
		return 0, err
	}
	rows := newRows()
	for _, rec := range page.Sessions {
		if !rec.Status.Ended() {
			if err := h.replay(ctx, rec, rows); err != nil {
				return 0, err
			}
		}
		rows.put(rec)
	}
	pending, err := h.sessions.Approvals.Pending(ctx)
	if err != nil {
		return 0, err
	}
	rows.ask(pending)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rows = rows
	return newest + 1, nil
}

// replay adds the events of a running session to rows.
func (h *hub) replay(ctx context.Context, rec *record.Record, rows *rows) error {
	for entry, err := range h.bus.Log(ctx, rec.Path) {
		if err != nil {
			return err
		}
		if !entry.Event {
			continue
		}
		ev, err := event.Decode(entry.Data)
		if err != nil {
			return err
		}
		rows.apply(live.Event{Path: rec.Path, Event: ev, Time: entry.Time, Seq: entry.Seq})
	}
	return nil
}

// apply adds an event to the rows.
func (h *hub) apply(ctx context.Context, placed eventbus.Placed) error {
	_, ev, err := placed.Event()
	if err != nil {
		return err
	}
	switch ev.(type) {
	case event.ToolApprovalRequired, event.ToolApprovalResolved, event.QuestionAsked, event.QuestionAnswered:
		pending, err := h.sessions.Approvals.Pending(ctx)
		if err != nil {
			return err
		}
		h.change(func(r *rows) { r.ask(pending) })
	case event.AgentsChanged:
		h.change(func(r *rows) { r.agents = r.next() })
	}
	if placed.Sessions[0] == event.WorkspaceStream {
		return nil
	}
	path := make(event.Path, len(placed.Sessions))
	for i, id := range placed.Sessions {
		path[i].SessionID = id
	}
	h.change(func(r *rows) { r.apply(live.Event{Path: path, Event: ev, Time: placed.Time, Seq: placed.Seq}) })
	return nil
}

// change makes a change of the rows, and wakes the browsers that wait for one.
func (h *hub) change(do func(*rows)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.rows.revision
	if do(h.rows); h.rows.revision != before {
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// deleted removes a session that was deleted, and those below it.
func (h *hub) deleted(id string) {
	h.mu.Lock()
	runs := h.stop != nil
	h.mu.Unlock()
	if runs { // else the next run reads what there is
		h.change(func(r *rows) { r.remove(r.tree.Below(id)) })
	}
}

// tick looks up records that say more than events do, and ends the run once there has
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
			ids := h.rows.lookUp()
			h.mu.Unlock()
			if idle {
				stop()
				return
			}
			for _, id := range ids {
				h.lookUp(ctx, id)
			}
			if beats%budgetBeats == 0 && h.level != nil {
				h.readBudgets()
			}
		}
	}
}

// readBudgets adds how much of their budgets the sessions of this process have used.
func (h *hub) readBudgets() {
	var ids []string
	h.mu.Lock()
	for _, s := range h.rows.running() {
		ids = append(ids, s.ID)
	}
	h.mu.Unlock()
	for _, id := range ids {
		if used, ok := h.level(id); ok {
			h.change(func(r *rows) { r.setBudget(id, used) })
		}
	}
}

// lookUp adds what the record of a session says. One that cannot be read is looked up again,
// a few times.
func (h *hub) lookUp(ctx context.Context, id string) {
	rec, err := h.sessions.Index.Get(ctx, id)
	if err != nil {
		h.log.Debug("looking up a session for the page", "session", id, "err", err)
		return
	}
	h.change(func(r *rows) {
		if r.tree.Get(id) != nil {
			r.put(rec)
		}
	})
}
