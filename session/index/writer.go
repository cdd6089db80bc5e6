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
	// indexInterval is how often the record of a session that runs is written at
	// most: its steps and tokens. A new state is written after stateDelay. How it
	// begins and ends is written at once, and that somebody is asked.
	indexInterval = time.Second
	stateDelay    = 50 * time.Millisecond

	// indexBatch is how many records are on their way at once.
	indexBatch = 256
)

// Index writes the records of a process's sessions to their bucket, behind the
// sessions: what counts is in their logs. One write of a record is on its way at
// most, and the newest form of it wins.
type Writer struct {
	index *Index
	log   *slog.Logger
	wake  chan struct{} // has a value if there may be something to do
	stop  context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	rows    map[string]*indexRow // of the sessions that run, or are not stored as they are
	ready   []*indexRow          // to be written now
	later   map[string]*indexRow // to be written, but not yet
	dueAt   time.Time            // when the first of later may be due; zero means later is empty
	rounds  int                  // of writing, so far
	ended   chan struct{}        // closed at the end of a round, then another
	closing bool
}

// IndexOwner is a session that has its record written. What it is told, it is told
// by the index's goroutine.
type Owner interface {
	// Taken tells that another process has ended the session, as r says. Its
	// record is not written any more.
	Claimed(r *record.Record)

	// Unstored tells that the record could not be stored for some time, with the
	// last error. Nobody would find the session. It may be told again.
	Unstored(err error)
}

// indexRow is the record of one session.
type indexRow struct {
	id      string
	owner   Owner
	rev     uint64         // of what is stored; 0 means nothing is. The writer's alone
	next    *record.Record // what is to be written; nil means nothing
	ready   bool           // it is among those to be written now
	writing bool           // it is being written
	status  record.Status  // as it was written last
	wrote   time.Time      // when that was, or should have been
	failing time.Time      // since when it can't be; zero means it can
}

// StartIndex begins to write the records of the sessions that this process runs,
// until [Index.Close] or until the connection is closed. What the store is asked for then
// it has written first. Call it once, before the store is used.
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

// Put has a record of the owner's session written, and does not wait for that. Nobody
// changes r any more.
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

// left is how long what is to be written of a row has time.
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

// queue has what is to be written of a row written: now, or once its time has
// come. The caller holds x.mu.
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

// delay has what is to be written of a row written later. The caller holds x.mu.
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

// run writes what is due, in rounds.
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

// due returns the rows to write now or, if there are none, how long to wait for
// some. over: none will come.
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

// round writes rows, and returns when all of them are done with.
func (w *Writer) round(ctx context.Context, rows []*indexRow) {
	for part := range slices.Chunk(rows, indexBatch) {
		records := w.next(part)
		written := w.tryRows(ctx, part, records)
		var rest []int // of which it is not known that they are stored
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

// take returns the newest forms of rows, which are being written from now on.
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

// finish processes what became of a form of a row's record. kept false: the record is
// not this process's any more.
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
	if hidden { // nobody would find it: see [Store.unindexed]
		row.owner.Unstored(err)
	}
}

// settle has what is known of a session written now, and returns when it is, or
// when that has failed. id empty: of all sessions.
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

// unsettled reports whether something of a session is not written, and has it
// written now. The caller holds x.mu.
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

// WriteTimeout bounds a write to the store that has to happen even though the
// session's own context has ended.
const WriteTimeout = 10 * time.Second
