package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// ErrRunning is returned for the deletion of a session that has not ended, or
// of one above it.
var ErrRunning = errors.New("it has not ended")

// Retention says when sessions that have ended are deleted, with those below
// them. The zero value: never.
type Retention struct {
	Age time.Duration // deleted so long after the root session's end; 0: never

	// Bytes bounds what the events and messages take in the embedded store: the
	// root session that ended first is deleted first. 0: no bound. In an
	// external server, whose streams hold other workspaces too, it has no effect.
	Bytes uint64
}

// Archived reports whether the session ended at least after ago. after 0: never.
func (r *Record) Archived(after time.Duration, now time.Time) bool {
	return after > 0 && r.Status.Ended() && now.Sub(r.EndedAt) >= after
}

// below reports whether r is the session of an id or one of its descendants.
func (r *Record) below(id string) bool {
	return slices.ContainsFunc(r.Path, func(h event.Hop) bool { return h.SessionID == id })
}

// Delete deletes the session of an id and all below it: their events, messages,
// payloads, approvals and records. It returns how many sessions it has deleted.
// If one of them has not ended, the error is [ErrRunning] and nothing is
// deleted. A deletion that was cut off can be repeated: the record goes last.
func (s *Store) Delete(ctx context.Context, id string) (int, error) {
	records, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	return s.delete(ctx, id, records)
}

// delete is [Store.Delete] where records are those of all sessions.
func (s *Store) delete(ctx context.Context, id string, records []*Record) (int, error) {
	var tree []*Record
	for _, r := range records {
		if !r.below(id) {
			continue
		}
		if !r.Closed {
			return 0, fmt.Errorf("session %s (%s) can't be deleted: %w", r.ID, r.Status, ErrRunning)
		}
		tree = append(tree, r)
	}
	if len(tree) == 0 {
		return 0, &NotFoundError{"session", id}
	}
	slices.SortFunc(tree, func(a, b *Record) int { return b.Depth - a.Depth }) // the session itself last
	approvals, err := s.allApprovals(ctx)
	if err != nil {
		return 0, err
	}
	deleted := 0
	for _, r := range tree {
		if err := s.deleteOne(ctx, r, approvals); err != nil {
			return deleted, fmt.Errorf("deleting session %s: %w", r.ID, err)
		}
		deleted++
	}
	return deleted, nil
}

func (s *Store) deleteOne(ctx context.Context, r *Record, approvals []*Approval) error {
	if err := s.bus.Purge(ctx, r.Path); err != nil {
		return err
	}
	if s.messages != nil {
		if err := s.messages.Purge(ctx, jetstream.WithPurgeSubject(s.messageSubject(r.ID))); err != nil {
			return err
		}
	}
	for _, a := range approvals {
		if a.SessionID != r.ID {
			continue
		}
		if err := s.purgeKey(ctx, s.approvals, a.ID); err != nil {
			return err
		}
	}
	return s.purgeKey(ctx, s.records, r.ID)
}

// purgeKey removes a key without the mark that [jetstream.KeyValue.Delete]
// leaves in its place for good.
func (s *Store) purgeKey(ctx context.Context, bucket jetstream.KeyValue, id string) error {
	stream, err := s.js.Stream(ctx, "KV_"+bucket.Bucket())
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucket.Bucket()+"."+s.key(id)))
}

// Expire deletes the sessions that the retention no longer keeps at a time, and
// returns how many.
func (s *Store) Expire(ctx context.Context, keep Retention, now time.Time) (int, error) {
	if keep.Age <= 0 && keep.Bytes == 0 {
		return 0, nil
	}
	records, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	var roots []*Record // which have ended with all below them
	for _, r := range records {
		running := func(c *Record) bool { return c.below(r.ID) && !c.Closed }
		if r.Depth == 0 && !slices.ContainsFunc(records, running) {
			roots = append(roots, r)
		}
	}
	slices.SortFunc(roots, func(a, b *Record) int { return a.EndedAt.Compare(b.EndedAt) })
	deleted := 0
	for _, r := range roots {
		old := keep.Age > 0 && now.Sub(r.EndedAt) >= keep.Age
		if !old {
			large, err := s.exceeds(ctx, keep.Bytes)
			if err != nil || !large {
				return deleted, err
			}
		}
		n, err := s.delete(ctx, r.ID, records)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// exceeds reports whether the embedded store holds more than limit bytes; 0: no
// limit.
func (s *Store) exceeds(ctx context.Context, limit uint64) (bool, error) {
	if limit == 0 || !s.bus.Embedded() {
		return false, nil
	}
	var total uint64
	for _, name := range []string{eventbus.Stream, messageStream, eventbus.PayloadStream} {
		stream, err := s.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // nothing was ever stored there
		}
		if err != nil {
			return false, fmt.Errorf("measuring the stream %s: %w", name, err)
		}
		total += stream.CachedInfo().State.Bytes
	}
	return total > limit, nil
}
