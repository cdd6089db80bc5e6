package store

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
)

// checkpoint holds the sessions that had not ended when the bucket of records and the
// event stream were read up to some sequence numbers. The next search reads only what
// has changed since. The checkpoint is stored in the bucket.
type checkpoint struct {
	Schema  int      `json:"schema"`
	Records uint64   `json:"records"` // in the bucket: all up to it are closed, but for those in Open
	Events  uint64   `json:"events"`  // in the event stream: all logs that begin up to it have a record
	Open    []string `json:"open"`    // ids
}

const (
	checkpointID = "checkpoint.open" // its key, behind the workspace

	// checkpointRecords and checkpointEvents are the numbers of changes after which a
	// new one is stored. Until then each search reads those changes.
	checkpointRecords = 512
	checkpointEvents  = 4096
)

// readCheckpoint returns the checkpoint, and its revision. Zero: there is none.
func (s *Store) readCheckpoint(ctx context.Context) (cp checkpoint, rev uint64, err error) {
	entry, err := s.records.Get(ctx, s.key(checkpointID))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return cp, 0, nil
	}
	if err != nil {
		return cp, 0, err
	}
	if json.Unmarshal(entry.Value(), &cp) != nil || cp.Schema != Schema {
		cp = checkpoint{} // of a later version, or damaged: all is looked through
	}
	return cp, entry.Revision(), nil
}

// census is what a look at the bucket of records finds.
type census struct {
	open   []orphan
	known  map[string]bool // ids of sessions whose record was read
	newest time.Time       // when the bucket was written to last
}

// open returns the sessions whose records are not closed, or not stored. Its cost is
// that of the changes since the last checkpoint. It gives every session its mark.
func (s *Store) open(ctx context.Context) ([]orphan, error) {
	open, err := s.lookThrough(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for sessions that have not ended: %w", err)
	}
	return open, nil
}

func (s *Store) lookThrough(ctx context.Context) ([]orphan, error) {
	s.settle(ctx, "")
	last, rev, err := s.readCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	now := checkpoint{Schema: Schema, Open: []string{}}
	if now.Events, err = s.bus.Newest(ctx); err != nil { // before the bucket: what comes later is for the next look
		return nil, err
	}
	if now.Records, err = s.lastRecord(ctx); err != nil {
		return nil, err
	}
	// Without a checkpoint, or with that of other streams.
	all := last.Schema == 0 || last.Records > now.Records || last.Events > now.Events
	var found *census
	if all {
		if err := s.remarkAll(ctx); err != nil {
			return nil, err
		}
		if now.Records, err = s.lastRecord(ctx); err == nil {
			found, err = s.countAll(ctx)
		}
	} else {
		found, err = s.countSince(ctx, last, now.Records)
	}
	if err != nil {
		return nil, err
	}
	for _, o := range found.open {
		now.Open = append(now.Open, o.ID)
	}
	unindexed, firstEvent, err := s.unindexed(ctx, found, last.Events, all)
	if err != nil {
		return nil, err
	}
	if firstEvent > 0 {
		now.Events = min(now.Events, firstEvent-1)
	}
	if all || now.Records >= last.Records+checkpointRecords || now.Events >= last.Events+checkpointEvents {
		data, err := json.Marshal(now)
		if err != nil {
			return nil, err
		}
		// Another process may have stored one, or the store may be full: then the next
		// search reads more.
		_, _ = s.records.Update(ctx, s.key(checkpointID), data, rev)
	}
	return append(found.open, unindexed...), nil
}

// lastRecord returns the newest sequence number of the bucket of records.
func (s *Store) lastRecord(ctx context.Context) (uint64, error) {
	info, err := s.recordStream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// remarkAll gives all sessions a mark that have none, in the order in which they were
// opened.
func (s *Store) remarkAll(ctx context.Context) error {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return err
	}
	records, err := decodeRecords(entries)
	if err != nil {
		return err
	}
	marked, err := s.keys(ctx, s.recordStream, s.records, markToken+".>")
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r *Record) bool { return marked[s.markKey(r.Path)] })
	slices.SortStableFunc(records, func(a, b *Record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for part := range slices.Chunk(records, markReaders) {
		errs := make([]error, len(part))
		atOnce(len(part), func(i int) { errs[i] = s.remark(ctx, part[i]) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// countAll looks at all records.
func (s *Store) countAll(ctx context.Context) (*census, error) {
	entries, err := s.entries(ctx, s.records)
	if err != nil {
		return nil, err
	}
	records, err := decodeRecords(entries)
	if err != nil {
		return nil, err
	}
	found := &census{known: make(map[string]bool, len(entries))}
	for i, e := range entries {
		found.known[strings.TrimPrefix(e.key, s.key(""))] = true
		if e.created.After(found.newest) {
			found.newest = e.created
		}
		if !records[i].Closed {
			found.open = append(found.open, orphan{records[i], e.rev})
		}
	}
	return found, nil
}

// countSince looks at the records that were open at a checkpoint, and at those that
// have changed since, up to a sequence number. One that changes meanwhile moves behind
// that: so those are asked for by id that were open, or have a mark, and did not come.
func (s *Store) countSince(ctx context.Context, last checkpoint, upTo uint64) (*census, error) {
	found := &census{known: make(map[string]bool)}
	marks := make(map[string]bool)
	var unmarked []*Record
	for m, err := range s.bus.Range(ctx, s.recordStream, last.Records+1, upTo) {
		if err != nil {
			return nil, err
		}
		found.newest = m.Time
		id, mark := s.parseKey(m.Subject)
		if mark {
			marks[id] = true
		}
		if id == "" || mark || len(m.Data) == 0 { // without content it was deleted
			continue
		}
		found.known[id] = true
		r, err := decodeRecord(m.Data)
		if err != nil {
			return nil, err
		}
		if !r.Closed {
			found.open = append(found.open, orphan{r, m.Seq})
		}
		if !marks[id] {
			unmarked = append(unmarked, r)
		}
	}
	for _, id := range slices.AppendSeq(slices.Clone(last.Open), maps.Keys(marks)) {
		if found.known[id] {
			continue
		}
		switch r, rev, err := s.read(ctx, id); {
		case errors.Is(err, jetstream.ErrKeyNotFound): // deleted, or not stored yet: see unindexed
			continue
		case err != nil:
			return nil, err
		case !r.Closed:
			found.open = append(found.open, orphan{r, rev})
		}
		found.known[id] = true
	}
	for _, r := range unmarked {
		if _, err := s.records.Get(ctx, s.markKey(r.Path)); errors.Is(err, jetstream.ErrKeyNotFound) {
			if err := s.remark(ctx, r); err != nil {
				return nil, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	return found, nil
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
func (s *Store) unindexed(ctx context.Context, found *census, after uint64, all bool) (open []orphan, first uint64, err error) {
	entries := s.bus.EntriesAfter(ctx, openedKind, after)
	if all {
		if found.newest.IsZero() { // then the bucket is new, or lost: for that there is Rebuild
			stream, err := s.js.Stream(ctx, eventbus.Stream)
			if err != nil {
				return nil, 0, err
			}
			found.newest = stream.CachedInfo().State.LastTime
		}
		entries = s.bus.Entries(ctx, openedKind, found.newest.Add(-indexDelay))
	}
	for e, err := range entries {
		if err != nil {
			return nil, 0, err
		}
		r, err := decodeOpened(e)
		if err != nil {
			return nil, 0, err
		}
		if found.known[r.ID] {
			continue
		}
		found.known[r.ID] = true
		if !all {
			stored, rev, err := s.read(ctx, r.ID)
			if err == nil && !stored.Closed { // it has come meanwhile
				open = append(open, orphan{stored, rev})
			}
			if err == nil { // closed, and before the checkpoint
				continue
			}
			if !errors.Is(err, jetstream.ErrKeyNotFound) {
				return nil, 0, err
			}
		}
		open = append(open, orphan{Record: r})
		if first == 0 {
			first = e.Seq
		}
	}
	return open, first, nil
}

// ids returns the ids of all sessions that have a record.
func (s *Store) ids(ctx context.Context) ([]string, error) {
	keys, err := s.keys(ctx, s.recordStream, s.records, "*")
	ids := make([]string, 0, len(keys))
	for key := range keys {
		ids = append(ids, strings.TrimPrefix(key, s.key("")))
	}
	return ids, err
}
