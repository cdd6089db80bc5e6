package index

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/record"
)

const (
	// indexInterval is the shortest time between two writes of a running session's record:
	// its steps and tokens. A new state is written after stateDelay. The beginning, the
	// end, and a question to a person are written immediately.
	indexInterval = time.Second
	stateDelay    = 50 * time.Millisecond

	// indexBatch is how many records are sent before the first of them is acknowledged.
	indexBatch = 256
)

// Writer writes the records of a process's sessions to their bucket. The records may lag,
// as only the sessions' logs count. At most one write of a record is under way, and its
// newest form wins.
type Writer struct {
	index *Index
	log   *slog.Logger
	wake  chan struct{} // has a value if there may be something to do
	stop  context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	rows    map[string]*indexRow // of the sessions that run, or whose newest form is not stored
	ready   []*indexRow          // rows to write now
	later   map[string]*indexRow // rows to write later
	dueAt   time.Time            // when the first of later may be due; zero means later is empty
	rounds  int                  // of writing, so far
	ended   chan struct{}        // closed at the end of a round, then replaced
	closing bool
}

// Owner is a session that has its record written. The writer's goroutine calls its methods.
type Owner interface {
	// Claimed reports that another process has ended or claimed the session, as r says. Its
	// record is not written any more.
	Claimed(r *record.Record)

	// Unstored reports that the record could not be stored for some time, with the last
	// error. So nobody would find the session. It may be called again.
	Unstored(err error)
}

// indexRow is the record of one session.
type indexRow struct {
	id      string
	owner   Owner
	rev     uint64         // the stored revision; 0 means none. Only the writer uses it
	next    *record.Record // the form to write; nil means none
	ready   bool           // it is in Writer.ready
	writing bool           // it is being written
	status  record.Status  // the last written status
	wrote   time.Time      // time of the last write, or when it should have happened
	failing time.Time      // since when writes fail; zero means they do not
}

// StartWriter begins to write the records of this process's sessions, until [Writer.Close]
// or until the connection is closed. From then on, the index writes them before it answers
// a request. Call it once, before the index is used.
func (x *Index) StartWriter(log *slog.Logger) *Writer {
	w := &Writer{
		index: x, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		rows: make(map[string]*indexRow), later: make(map[string]*indexRow), ended: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(ctx, x.bus.Conn().StatusChanged(nats.CLOSED))
	x.writer = w
	return w
}

// Close returns when all records are stored, or ctx has ended.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	for _, row := range w.later {
		w.queue(row, true)
	}
	w.mu.Unlock()
	w.signal()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	w.stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.rows {
		if row.next != nil && !w.index.bus.Conn().IsClosed() {
			return fmt.Errorf("the record of session %s could not be stored; the next worker makes it from the session's log", row.next.ID)
		}
	}
	return nil
}

// Put has a record of the owner's session written, and does not wait for that. Nobody may
// change r any more.
func (w *Writer) Put(owner Owner, r *record.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := w.rows[r.ID]
	if row == nil {
		row = &indexRow{id: r.ID, owner: owner}
		w.rows[r.ID] = row
	}
	row.next = r
	w.queue(row, false)
}

// due returns how long the write of a row may wait.
func (row *indexRow) due() time.Duration {
	status, since := row.next.Status, time.Since(row.wrote)
	switch {
	case !row.failing.IsZero():
		return indexInterval - since
	case status.Ended(), status == record.WaitingApproval && row.status != status:
		return 0
	case status != row.status:
		return stateDelay - since
	default:
		return indexInterval - since
	}
}

// queue schedules the write of a row: now, or when it is due. The caller holds w.mu.
func (w *Writer) queue(row *indexRow, now bool) {
	if row.ready || row.writing {
		return
	}
	if left := row.due(); left > 0 && !now && !w.closing {
		w.delay(row, left)
		return
	}
	row.ready = true
	w.ready = append(w.ready, row)
	delete(w.later, row.id)
	w.signal()
}

// delay schedules the write of a row for later. The caller holds w.mu.
func (w *Writer) delay(row *indexRow, left time.Duration) {
	w.later[row.id] = row
	if at := time.Now().Add(left); w.dueAt.IsZero() || at.Before(w.dueAt) {
		w.dueAt = at
		w.signal()
	}
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes the due rows, in rounds.
func (w *Writer) run(ctx context.Context, closed <-chan nats.Status) {
	defer close(w.done)
	defer w.stop()
	timer := time.NewTimer(indexInterval)
	defer timer.Stop()
	for {
		rows, wait, over := w.due()
		switch {
		case over, ctx.Err() != nil, w.index.bus.Conn().IsClosed():
			return
		case len(rows) > 0:
			w.round(ctx, rows)
			continue
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		case <-closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// due returns the rows to write now or, if there are none, how long to wait for some. over
// reports that no more will come.
func (w *Writer) due() (rows []*indexRow, wait time.Duration, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ready) == 0 && !w.dueAt.After(time.Now()) {
		w.dueAt = time.Time{}
		for _, row := range w.later {
			w.queue(row, false)
		}
	}
	wait = time.Hour
	if !w.dueAt.IsZero() {
		wait = time.Until(w.dueAt)
	}
	rows, w.ready = w.ready, nil
	return rows, wait, w.closing && len(rows) == 0 && len(w.later) == 0
}

// round writes rows, and returns when all of them are written or have failed.
func (w *Writer) round(ctx context.Context, rows []*indexRow) {
	for part := range slices.Chunk(rows, indexBatch) {
		records := w.next(part)
		written := w.tryRows(ctx, part, records)
		var rest []int // rows not known to be stored
		for i, row := range part {
			if written[i] {
				w.finish(row, records[i], true, nil)
			} else {
				rest = append(rest, i)
			}
		}
		AtOnce(len(rest), func(n int) { w.write(ctx, part[rest[n]], records[rest[n]]) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds++
	close(w.ended)
	w.ended = make(chan struct{})
}

// next returns the newest forms of rows, and marks the rows as being written.
func (w *Writer) next(rows []*indexRow) []*record.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := make([]*record.Record, len(rows))
	for i, row := range rows {
		records[i] = row.next
		row.next, row.ready, row.writing = nil, false, true
	}
	return records
}

// write stores a form of a row's record, and waits for that.
func (w *Writer) write(ctx context.Context, row *indexRow, next *record.Record) {
	bounded, cancel := context.WithTimeout(ctx, WriteTimeout)
	kept, err := w.writeRow(bounded, row, next)
	cancel()
	w.finish(row, next, kept, err)
}

// finish processes the outcome of a write. kept false means that the record no longer
// belongs to this process.
func (w *Writer) finish(row *indexRow, next *record.Record, kept bool, err error) {
	w.mu.Lock()
	now := time.Now()
	row.writing, row.status, row.wrote = false, next.Status, now
	hidden := false
	switch {
	case err == nil:
		row.failing = time.Time{}
	case row.failing.IsZero():
		row.failing = now
		w.log.Warn("the record of a session could not be stored; that is tried again", "session", next.ID, "err", err)
	default:
		hidden = row.rev == 0 && w.index.bus.Store().Waited(row.failing) > WriteTimeout
	}
	if err != nil && row.next == nil {
		row.next = next
	}
	switch {
	case !kept, row.next == nil && next.Status.Ended():
		row.next = nil
		delete(w.rows, next.ID)
	case err != nil:
		w.delay(row, indexInterval)
	case row.next != nil:
		w.queue(row, false)
	}
	w.mu.Unlock()
	if hidden { // nobody would find it: see [search.unindexed]
		row.owner.Unstored(err)
	}
}

// settle writes what is known of a session, and returns when that is done or has failed. An
// empty id means all sessions.
func (w *Writer) settle(ctx context.Context, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for until := w.rounds + 2; w.rounds < until && w.unsettled(id); { // the round of now may be past it
		ended := w.ended
		w.mu.Unlock()
		select {
		case <-ended:
		case <-w.done:
			until = 0
		case <-ctx.Done():
			until = 0
		}
		w.mu.Lock()
	}
}

// unsettled reports whether something of a session is not written, and has it written now.
// The caller holds w.mu.
func (w *Writer) unsettled(id string) bool {
	rows := w.rows
	if id != "" {
		row := w.rows[id]
		if row == nil {
			return false
		}
		rows = map[string]*indexRow{id: row}
	}
	found := false
	for _, row := range rows {
		found = found || row.writing || row.next != nil
		if row.next != nil {
			w.queue(row, true)
		}
	}
	return found
}

// WriteTimeout bounds a write to the store that must happen even though the session's own
// context has ended.
const WriteTimeout = 10 * time.Second
