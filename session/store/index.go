package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
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
type Index struct {
	store *Store
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
type IndexOwner interface {
	// Taken tells that another process has ended the session, as r says. Its
	// record is not written any more.
	Taken(r *Record)

	// Unstored tells that the record could not be stored for some time, with the
	// last error. Nobody would find the session. It may be told again.
	Unstored(err error)
}

// indexRow is the record of one session.
type indexRow struct {
	id      string
	owner   IndexOwner
	rev     uint64    // of what is stored; 0 means nothing is. The writer's alone
	next    *Record   // what is to be written; nil means nothing
	ready   bool      // it is among those to be written now
	writing bool      // it is being written
	status  Status    // as it was written last
	wrote   time.Time // when that was, or should have been
	failing time.Time // since when it can't be; zero means it can
}

// StartIndex begins to write the records of the sessions that this process runs,
// until [Index.Close] or until the connection is closed. What the store is asked for then
// it has written first. Call it once, before the store is used.
func (s *Store) StartIndex(log *slog.Logger) *Index {
	x := &Index{
		store: s, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		rows: make(map[string]*indexRow), later: make(map[string]*indexRow), ended: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	go x.run(ctx, s.bus.Conn().StatusChanged(nats.CLOSED))
	s.index = x
	return x
}

// Close returns when all records are stored, or ctx has ended.
func (x *Index) Close(ctx context.Context) error {
	x.mu.Lock()
	x.closing = true
	for _, row := range x.later {
		x.queue(row, true)
	}
	x.mu.Unlock()
	x.signal()
	select {
	case <-x.done:
	case <-ctx.Done():
	}
	x.stop()
	<-x.done
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, row := range x.rows {
		if row.next != nil && !x.store.bus.Conn().IsClosed() {
			return fmt.Errorf("the record of session %s could not be stored; the next worker makes it from the session's log", row.next.ID)
		}
	}
	return nil
}

// Put has a record of the owner's session written, and does not wait for that. Nobody
// changes r any more.
func (x *Index) Put(owner IndexOwner, r *Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	row := x.rows[r.ID]
	if row == nil {
		row = &indexRow{id: r.ID, owner: owner}
		x.rows[r.ID] = row
	}
	row.next = r
	x.queue(row, false)
}

// left is how long what is to be written of a row has time.
func (row *indexRow) left() time.Duration {
	status, since := row.next.Status, time.Since(row.wrote)
	switch {
	case !row.failing.IsZero():
		return indexInterval - since
	case status.Ended(), status == WaitingApproval && row.status != status:
		return 0
	case status != row.status:
		return stateDelay - since
	default:
		return indexInterval - since
	}
}

// queue has what is to be written of a row written: now, or once its time has
// come. The caller holds x.mu.
func (x *Index) queue(row *indexRow, now bool) {
	if row.ready || row.writing {
		return
	}
	if left := row.left(); left > 0 && !now && !x.closing {
		x.delay(row, left)
		return
	}
	row.ready = true
	x.ready = append(x.ready, row)
	delete(x.later, row.id)
	x.signal()
}

// delay has what is to be written of a row written later. The caller holds x.mu.
func (x *Index) delay(row *indexRow, left time.Duration) {
	x.later[row.id] = row
	if at := time.Now().Add(left); x.dueAt.IsZero() || at.Before(x.dueAt) {
		x.dueAt = at
		x.signal()
	}
}

func (x *Index) signal() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// run writes what is due, in rounds.
func (x *Index) run(ctx context.Context, closed <-chan nats.Status) {
	defer close(x.done)
	defer x.stop()
	timer := time.NewTimer(indexInterval)
	defer timer.Stop()
	for {
		rows, wait, over := x.due()
		switch {
		case over, ctx.Err() != nil, x.store.bus.Conn().IsClosed():
			return
		case len(rows) > 0:
			x.round(ctx, rows)
			continue
		}
		timer.Reset(wait)
		select {
		case <-x.wake:
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
func (x *Index) due() (rows []*indexRow, wait time.Duration, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.ready) == 0 && !x.dueAt.After(time.Now()) {
		x.dueAt = time.Time{}
		for _, row := range x.later {
			x.queue(row, false)
		}
	}
	wait = time.Hour
	if !x.dueAt.IsZero() {
		wait = time.Until(x.dueAt)
	}
	rows, x.ready = x.ready, nil
	return rows, wait, x.closing && len(rows) == 0 && len(x.later) == 0
}

// round writes rows, and returns when all of them are done with.
func (x *Index) round(ctx context.Context, rows []*indexRow) {
	for part := range slices.Chunk(rows, indexBatch) {
		records := x.take(part)
		written := x.store.tryRows(ctx, part, records)
		var rest []int // of which it is not known that they are stored
		for i, row := range part {
			if written[i] {
				x.finish(row, records[i], true, nil)
			} else {
				rest = append(rest, i)
			}
		}
		atOnce(len(rest), func(n int) { x.write(ctx, part[rest[n]], records[rest[n]]) })
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rounds++
	close(x.ended)
	x.ended = make(chan struct{})
}

// take returns the newest forms of rows, which are being written from now on.
func (x *Index) take(rows []*indexRow) []*Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	records := make([]*Record, len(rows))
	for i, row := range rows {
		records[i] = row.next
		row.next, row.ready, row.writing = nil, false, true
	}
	return records
}

// write stores a form of a row's record, and waits for that.
func (x *Index) write(ctx context.Context, row *indexRow, next *Record) {
	bounded, cancel := context.WithTimeout(ctx, WriteTimeout)
	kept, err := x.store.writeRow(bounded, row, next)
	cancel()
	x.finish(row, next, kept, err)
}

// finish processes what became of a form of a row's record. kept false: the record is
// not this process's any more.
func (x *Index) finish(row *indexRow, next *Record, kept bool, err error) {
	x.mu.Lock()
	now := time.Now()
	row.writing, row.status, row.wrote = false, next.Status, now
	hidden := false
	switch {
	case err == nil:
		row.failing = time.Time{}
	case row.failing.IsZero():
		row.failing = now
		x.log.Warn("the record of a session could not be stored; that is tried again", "session", next.ID, "err", err)
	default:
		hidden = row.rev == 0 && x.store.bus.Store().Waited(row.failing) > WriteTimeout
	}
	if err != nil && row.next == nil {
		row.next = next
	}
	switch {
	case !kept, row.next == nil && next.Status.Ended():
		row.next = nil
		delete(x.rows, next.ID)
	case err != nil:
		x.delay(row, indexInterval)
	case row.next != nil:
		x.queue(row, false)
	}
	x.mu.Unlock()
	if hidden { // nobody would find it: see [Store.unindexed]
		row.owner.Unstored(err)
	}
}

// settle has what is known of a session written now, and returns when it is, or
// when that has failed. id empty: of all sessions.
func (x *Index) settle(ctx context.Context, id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for until := x.rounds + 2; x.rounds < until && x.unsettled(id); { // the round of now may be past it
		ended := x.ended
		x.mu.Unlock()
		select {
		case <-ended:
		case <-x.done:
			until = 0
		case <-ctx.Done():
			until = 0
		}
		x.mu.Lock()
	}
}

// unsettled reports whether something of a session is not written, and has it
// written now. The caller holds x.mu.
func (x *Index) unsettled(id string) bool {
	rows := x.rows
	if id != "" {
		row := x.rows[id]
		if row == nil {
			return false
		}
		rows = map[string]*indexRow{id: row}
	}
	found := false
	for _, row := range rows {
		found = found || row.writing || row.next != nil
		if row.next != nil {
			x.queue(row, true)
		}
	}
	return found
}
