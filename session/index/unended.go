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

// search is a look through the bucket of records for sessions that have not ended.
type search struct {
	index  *Index
	last   checkpoint // zero means all is looked through
	open   []Stored
	known  map[string]bool // ids of sessions whose record was read
	newest time.Time       // when the bucket was written to last
}

// open returns the sessions whose records are not closed, or not stored. Its cost is
// that of the changes since the last checkpoint. It gives every session its mark.
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
	if last.Records > now.Records || last.Events > now.Events { // that of other streams
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

// all reports whether the whole bucket is looked through.
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

// countSince looks at the records that were open at a checkpoint, and at those that
// have changed since, up to a sequence number. One that changes meanwhile moves behind
// that: so those are asked for by id that were open, or have a mark, and did not come.
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

// indexDelay bounds how far a record in the bucket is behind the log of its
// session, see [Store.unindexed].
const indexDelay = 3 * time.Minute

// unindexed returns the sessions whose logs have begun, and of which no record is
// stored: their process was killed in between. first is the sequence number of the
// entry with which the first of them begins; 0 means there is none. It looks at the logs
// that begin behind a sequence number or, with all, shortly before the bucket was
// written to last.
//
// Only these can lack their record then. A process that lives writes the record of a
// session within [indexInterval], or the session fails within [WriteTimeout] or two. If
// it is killed instead, the others of the workspace look here within [lease.Time] and a
// minute, and until then alone do they write to the bucket without having looked. These
// are some 100 s together.
func (w *search) unindexed(ctx context.Context) (open []Stored, first uint64, err error) {
	entries := w.index.bus.EntriesAfter(ctx, log.OpenedKind, w.last.Events)
	if w.all() {
		if w.newest.IsZero() { // then the bucket is new, or lost: for that there is Rebuild
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
			if err == nil && !stored.Closed { // it has come meanwhile
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
