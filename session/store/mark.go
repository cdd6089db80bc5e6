package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// Beside its record each session has a mark in the bucket. It is stored once, when the
// session is opened, so that its place in the bucket is the session's place in lists,
// whatever becomes of the record. The key of a mark holds the ids above the session:
//
//	<workspace>.opened.<root>[.<child>…]
//
// A mark's content is the record as it was then.
const markToken = "opened"

// markReaders is how many records are asked for at once, where each takes a round
// trip.
const markReaders = 16

func (s *Store) markKey(path event.Path) string {
	return s.key(markToken + "." + strings.Join(path.IDs(), "."))
}

// recordSubject returns the subject of a key of the bucket of records.
func (s *Store) recordSubject(key string) string { return "$KV." + recordBucket + "." + key }

// parseKey tells what a subject of the bucket of records stands for: a record, or a
// mark, of the session of an id. id empty: something else, or another workspace's.
func (s *Store) parseKey(subject string) (id string, mark bool) {
	key, ours := strings.CutPrefix(subject, s.recordSubject(s.key("")))
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
func (s *Store) mark(ctx context.Context, r *Record) error {
	data, err := json.Marshal(r)
	if err == nil {
		_, err = s.records.Create(ctx, s.markKey(r.Path), data)
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("storing the mark of session %s: %w", r.ID, err)
	}
	return nil
}

// remark is mark for a session whose record was found without one: its process was
// killed in between.
func (s *Store) remark(ctx context.Context, r *Record) error {
	if len(r.Path) == 0 {
		return nil // damaged: it can't be followed, nor shown with others
	}
	if err := s.mark(ctx, r); err != nil {
		return err
	}
	_, err := s.records.Get(ctx, s.key(r.ID))
	if errors.Is(err, jetstream.ErrKeyNotFound) { // deleted meanwhile
		return s.purgeRecord(ctx, s.markKey(r.Path))
	}
	return err
}

// marked is a session as its mark tells of it.
type marked struct {
	seq uint64 // of the mark in the bucket
	*Record
}

// resolve returns the records of sessions as they are now, in the same order; nil for
// those that were deleted.
func (s *Store) resolve(ctx context.Context, marks []marked) ([]*Record, error) {
	records, errs := make([]*Record, len(marks)), make([]error, len(marks))
	atOnce(len(marks), func(i int) { records[i], errs[i] = s.ofMark(ctx, marks[i].Record) })
	return records, errors.Join(errs...)
}

// ofMark returns the record of a session of which r is the mark; nil means it was deleted.
func (s *Store) ofMark(ctx context.Context, r *Record) (*Record, error) {
	stored, _, err := s.read(ctx, r.ID)
	if err == nil {
		return s.current(ctx, stored)
	}
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	state, err := s.State(ctx, r.Path) // it may have just begun
	if err != nil || !state.logged && !state.Started {
		return nil, err
	}
	return state.recordOr(r), nil
}

// atOnce calls f for 0 to n-1, a few at a time, and returns when all have returned.
func atOnce(n int, f func(i int)) {
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
