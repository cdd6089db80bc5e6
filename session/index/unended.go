package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// search looks through the bucket of records for sessions that have not ended.
type search struct {
	index  *Index
	last   checkpoint // zero means everything is searched
	open   []Stored
	known  map[string]bool // ids of sessions whose record was read
	newest time.Time       // time of the bucket's last write
}

// Unended returns the sessions whose records are not closed, or not stored. Its cost
// depends on the changes since the last checkpoint. It gives every session its mark.
func (x *Index) Unended(ctx context.Context) ([]Stored, error) {
	open, err := x.search(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for sessions that have not ended: %w", err)
	}
	return open, nil
}

func (x *Index) search(ctx context.Context) ([]Stored, error) {
	x.Settle(ctx, "")
	last, rev, err := x.readCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	now := checkpoint{Schema: record.Schema, Open: []string{}}
	if now.Events, err = x.bus.Newest(ctx); err != nil { // before the bucket: what comes later is for the next look
		return nil, err
	}
	if now.Records, err = x.lastRecord(ctx); err != nil {
		return nil, err
	}
	if last.Records > now.Records || last.Events > now.Events { // the checkpoint is of other streams
		last = checkpoint{}
	}
	w := &search{index: x, last: last, known: make(map[string]bool)}
	if w.all() {
		if err := x.MarkAll(ctx); err != nil {
			return nil, err
		}
		if now.Records, err = x.lastRecord(ctx); err == nil {
			err = w.countAll(ctx)
		}
	} else {
		err = w.countSince(ctx, now.Records)
	}
	if err != nil {
		return nil, err
	}
	for _, o := range w.open {
		now.Open = append(now.Open, o.ID)
	}
	unindexed, firstEvent, err := w.unindexed(ctx)
	if err != nil {
		return nil, err
	}
	if firstEvent > 0 {
		now.Events = min(now.Events, firstEvent-1)
	}
	if w.all() || now.Records >= last.Records+checkpointRecords || now.Events >= last.Events+checkpointEvents {
		data, err := json.Marshal(now)
		if err != nil {
			return nil, err
		}
		// Another process may have stored one, or the store may be full: then the next
		// search reads more.
		_, _ = x.records.Update(ctx, x.Key(checkpointID), data, rev)
	}
	return append(w.open, unindexed...), nil
}

// all reports whether the full bucket is searched.
func (w *search) all() bool { return w.last.Schema == 0 }

// countAll looks at all records.
func (w *search) countAll(ctx context.Context) error {
	entries, err := w.index.Entries(ctx, w.index.records)
	if err != nil {
		return err
	}
	records, err := decodeRecords(entries)
	if err != nil {
		return err
	}
	for i, e := range entries {
		w.known[strings.TrimPrefix(e.key, w.index.Key(""))] = true
		if e.created.After(w.newest) {
			w.newest = e.created
		}
		if !records[i].Closed {
			w.open = append(w.open, Stored{records[i], e.rev})
		}
	}
	return nil
}

// countSince reads the records that were open at a checkpoint, and all changed ones since,
// up to a sequence number. A record that changes meanwhile moves beyond that number. So
// sessions that were open, or have a mark, are read by id if their records did not come.
func (w *search) countSince(ctx context.Context, upTo uint64) error {
	marks := make(map[string]bool)
	var unmarked []*record.Record
	for m, err := range w.index.bus.Range(ctx, w.index.stream, w.last.Records+1, upTo) {
		if err != nil {
			return err
		}
		w.newest = m.Time
		id, mark := w.index.parseKey(m.Subject)
		if mark {
			marks[id] = true
		}
		if id == "" || mark || len(m.Data) == 0 { // without content it was deleted
			continue
		}
		w.known[id] = true
		r, err := record.Decode(m.Data)
		if err != nil {
			return err
		}
		if !r.Closed {
			w.open = append(w.open, Stored{r, m.Seq})
		}
		if !marks[id] {
			unmarked = append(unmarked, r)
		}
	}
	for _, id := range slices.AppendSeq(slices.Clone(w.last.Open), maps.Keys(marks)) {
		if w.known[id] {
			continue
		}
		switch r, rev, err := w.index.Read(ctx, id); {
		case errors.Is(err, jetstream.ErrKeyNotFound): // deleted, or not stored yet: see unindexed
			continue
		case err != nil:
			return err
		case !r.Closed:
			w.open = append(w.open, Stored{r, rev})
		}
		w.known[id] = true
	}
	for _, r := range unmarked {
		if _, err := w.index.records.Get(ctx, w.index.markKey(r.Path)); errors.Is(err, jetstream.ErrKeyNotFound) {
			if err := w.index.remark(ctx, r); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// indexDelay bounds how far a record in the bucket lags behind its session's log: see
// [search.unindexed].
const indexDelay = 13 * time.Minute // the longest lease, and 3 min

// unindexed returns the sessions with a log but without a stored record: their process was
// killed in between. The first of them begins at the sequence number first; 0 means there
// is none. The search covers the logs that begin after a sequence number. With all, it
// covers those that began shortly before the bucket's last write, or later.
//
// Earlier sessions have their record. A living process writes a session's record within
// [indexInterval], or the session fails within [WriteTimeout] or two. If the process is
// killed instead, the others of the workspace search here once its lease, of 10 min at most,
// is over, and a minute. Only until then do they write to the bucket without a search.
// Beside the lease, these times together are about 80 s.
func (w *search) unindexed(ctx context.Context) (open []Stored, first uint64, err error) {
	entries := w.index.bus.EntriesAfter(ctx, log.OpenedKind, w.last.Events)
	if w.all() {
		if w.newest.IsZero() { // the bucket is new, or lost: Rebuild is for that
			stream, err := w.index.bus.JetStream().Stream(ctx, eventbus.Stream)
			if err != nil {
				return nil, 0, err
			}
			w.newest = stream.CachedInfo().State.LastTime
		}
		entries = w.index.bus.Entries(ctx, log.OpenedKind, w.newest.Add(-indexDelay))
	}
	for e, err := range entries {
		if err != nil {
			return nil, 0, err
		}
		r, err := log.DecodeOpened(log.Entry(e))
		if err != nil {
			return nil, 0, err
		}
		if w.known[r.ID] {
			continue
		}
		w.known[r.ID] = true
		if !w.all() {
			stored, rev, err := w.index.Read(ctx, r.ID)
			if err == nil && !stored.Closed { // its record was stored meanwhile
				open = append(open, Stored{stored, rev})
			}
			if err == nil { // closed, and before the checkpoint
				continue
			}
			if !errors.Is(err, jetstream.ErrKeyNotFound) {
				return nil, 0, err
			}
		}
		open = append(open, Stored{Record: r})
		if first == 0 {
			first = e.Seq
		}
	}
	return open, first, nil
}
