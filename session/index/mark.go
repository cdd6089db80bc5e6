package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// markToken begins the keys of marks. Each session has a mark in the bucket, beside its
// record. It is stored once, when the session is opened. So its position in the bucket is
// the session's position in lists, whatever happens to the record. The key holds the ids
// above the session:
//
//	<workspace>.opened.<root>[.<child>…]
//
// A mark's content is the record at that time.
const markToken = "opened"

// markReaders is how many records are asked for at once, where each takes a round
// trip.
const markReaders = 16

func (x *Bucket) markKey(path event.Path) string {
	return x.Key(markToken + "." + strings.Join(path.IDs(), "."))
}

// subject returns the subject of a key of the bucket of records.
func (x *Bucket) subject(key string) string { return "$KV." + BucketName + "." + key }

// parseKey returns the session that a subject of the bucket of records belongs to, and
// whether the key is a mark. An empty id means something else, or another workspace's.
func (x *Bucket) parseKey(subject string) (id string, mark bool) {
	key, ours := strings.CutPrefix(subject, x.subject(x.Key("")))
	switch {
	case !ours:
		return "", false
	case !strings.Contains(key, "."):
		return key, false
	case strings.HasPrefix(key, markToken+"."):
		return key[strings.LastIndexByte(key, '.')+1:], true
	}
	return "", false
}

// mark stores the mark of a session if it has none.
func (x *Index) mark(ctx context.Context, r *record.Record) error {
	data, err := json.Marshal(r)
	if err == nil {
		_, err = x.records.Create(ctx, x.markKey(r.Path), data)
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("storing the mark of session %s: %w", r.ID, err)
	}
	return nil
}

// remark is mark for a session that was found without one: its process was killed in
// between.
func (x *Index) remark(ctx context.Context, r *record.Record) error {
	if len(r.Path) == 0 {
		return nil // damaged: its path can't be followed, and lists can't show it
	}
	if err := x.mark(ctx, r); err != nil {
		return err
	}
	_, err := x.records.Get(ctx, x.Key(r.ID))
	if errors.Is(err, jetstream.ErrKeyNotFound) { // deleted meanwhile
		return x.Purge(ctx, x.markKey(r.Path))
	}
	return err
}

// marked is a session as its mark describes it.
type marked struct {
	seq uint64 // of the mark in the bucket
	*record.Record
}

// resolve returns the current records of sessions, in the same order; nil for deleted ones.
func (x *Index) resolve(ctx context.Context, marks []marked) ([]*record.Record, error) {
	records, errs := make([]*record.Record, len(marks)), make([]error, len(marks))
	AtOnce(len(marks), func(i int) { records[i], errs[i] = x.ofMark(ctx, marks[i].Record) })
	return records, errors.Join(errs...)
}

// ofMark returns the record of the session with the mark r; nil means it was deleted.
func (x *Index) ofMark(ctx context.Context, r *record.Record) (*record.Record, error) {
	stored, _, err := x.Read(ctx, r.ID)
	if err == nil {
		return x.current(ctx, stored)
	}
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	state, err := x.State(ctx, r.Path) // it may have just begun
	if err != nil || !state.Opened && !state.Started {
		return nil, err
	}
	return state.RecordOr(r), nil
}

// AtOnce calls f for 0 to n-1, a few at a time, and returns when all calls have returned.
func AtOnce(n int, f func(i int)) {
	var running sync.WaitGroup
	workers := min(markReaders, n)
	for first := range workers {
		running.Go(func() {
			for i := first; i < n; i += workers {
				f(i)
			}
		})
	}
	running.Wait()
}

// MarkAll gives each session without a mark one, in the order in which they were opened.
func (x *Index) MarkAll(ctx context.Context) error {
	entries, err := x.Entries(ctx, x.records)
	if err != nil {
		return err
	}
	records, err := decodeRecords(entries)
	if err != nil {
		return err
	}
	marked, err := x.Keys(ctx, x.stream, x.records, markToken+".>")
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r *record.Record) bool { return marked[x.markKey(r.Path)] })
	slices.SortStableFunc(records, func(a, b *record.Record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for part := range slices.Chunk(records, markReaders) {
		errs := make([]error, len(part))
		AtOnce(len(part), func(i int) { errs[i] = x.remark(ctx, part[i]) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}
