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
	Age time.Duration // deleted so long after the root session's end; 0 means never

	// Bytes bounds what the events and messages take in the embedded store: the
	// root session that ended first is deleted first. 0 means no bound. In an
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
// deleted. What a subagent has used counts in its caller's budget as before. A deletion
// that was cut off can be repeated: the record goes last.
func (s *Store) Delete(ctx context.Context, id string) (int, error) {
	if !event.ValidID(id) {
		return 0, &NotFoundError{"session", id}
	}
	s.settle(ctx, id)
	r, _, err := s.read(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if r, err = s.begun(ctx, id); err == nil {
			err = fmt.Errorf("session %s (%s) can't be deleted: %w", r.ID, r.Status, ErrRunning)
		}
	}
	if err != nil {
		return 0, err
	}
	if _, err := s.keepSpent(ctx, r); err != nil {
		return 0, err
	}
	return s.deleteTree(ctx, r)
}

// deleteTree is [Store.Delete] for the session of a record. What was used is not kept.
func (s *Store) deleteTree(ctx context.Context, top *Record) (int, error) {
	tree, err := s.Tree(ctx, top.Path)
	if err != nil {
		return 0, err
	}
	for _, r := range tree {
		if !r.Closed {
			return 0, fmt.Errorf("session %s (%s) can't be deleted: %w", r.ID, r.Status, ErrRunning)
		}
	}
	approvals, err := s.asked(ctx, tree)
	if err != nil {
		return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
	}
	if err := s.bus.Purge(ctx, top.Path); err != nil { // the logs of all of them, at once
		return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
	}
	if top.Depth == 0 {
		for _, token := range []string{cleanupToken, cleanedToken} { // of those below it
			if err := s.purgeRecord(ctx, s.key(token+top.ID)+".>"); err != nil {
				return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
			}
		}
	}
	slices.SortFunc(tree, func(a, b *Record) int { return b.Depth - a.Depth }) // the session itself last
	deleted := 0
	for len(tree) > 0 {
		level := slices.IndexFunc(tree, func(r *Record) bool { return r.Depth != tree[0].Depth })
		if level < 0 {
			level = len(tree)
		}
		errs := make([]error, level)
		atOnce(level, func(i int) { errs[i] = s.deleteOne(ctx, tree[i], approvals[tree[i].ID]) })
		for i, err := range errs {
			if err != nil {
				return deleted, fmt.Errorf("deleting session %s: %w", tree[i].ID, err)
			}
			deleted++
		}
		tree = tree[level:]
	}
	return deleted, nil
}

// asked returns the approvals that were asked for in some sessions, by session.
func (s *Store) asked(ctx context.Context, sessions []*Record) (map[string][]*Approval, error) {
	questions, errs := make([]bool, len(sessions)), make([]error, len(sessions))
	atOnce(len(sessions), func(i int) {
		last, err := s.bus.Last(ctx, sessions[i].Path, event.ToolApprovalRequired{}.Type())
		questions[i], errs[i] = last.Seq > 0, err
	})
	if err := errors.Join(errs...); err != nil || !slices.Contains(questions, true) {
		return nil, err
	}
	all, err := s.allApprovals(ctx)
	if err != nil {
		return nil, err
	}
	of := make(map[string][]*Approval)
	for _, a := range all {
		of[a.SessionID] = append(of[a.SessionID], a)
	}
	return of, nil
}

// deleteOne deletes what is stored of a session besides its log.
func (s *Store) deleteOne(ctx context.Context, r *Record, approvals []*Approval) error {
	if err := s.bus.PurgePayloads(ctx, r.ID); err != nil {
		return err
	}
	for _, a := range approvals {
		if err := s.purgeApproval(ctx, a.ID); err != nil {
			return err
		}
	}
	for _, key := range []string{s.markKey(r.Path), s.key(r.ID)} {
		if err := s.purgeRecord(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// purgeRecord removes a key, or those that match it, from the bucket of records, without
// the mark that [jetstream.KeyValue.Delete] leaves in its place for good.
func (s *Store) purgeRecord(ctx context.Context, key string) error {
	return s.recordStream.Purge(ctx, jetstream.WithPurgeSubject(s.recordSubject(key)))
}

// purgeApproval does the same with an approval.
func (s *Store) purgeApproval(ctx context.Context, id string) error {
	stream, err := s.js.Stream(ctx, "KV_"+approvalBucket)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+approvalBucket+"."+s.key(id)))
}

const (
	// expireSlice is how long sessions are deleted without a pause, and expirePause
	// how long that is: what others ask of the store is not behind all of it.
	expireSlice = 50 * time.Millisecond
	expirePause = 25 * time.Millisecond

	// expirePart is how many records are read at once.
	expirePart = 512
)

// Expire deletes the sessions that the retention no longer keeps at a time, and
// returns how many. It costs what it deletes: the records are in the order of their
// last change, so those that ended first come first. One that was stored anew later,
// by [Store.Rebuild], is kept for so long again at most.
func (s *Store) Expire(ctx context.Context, keep Retention, now time.Time) (int, error) {
	if keep.Age <= 0 && keep.Bytes == 0 {
		return 0, nil
	}
	s.settle(ctx, "")
	info, err := s.recordStream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("listing sessions: %w", err)
	}
	e := &expiry{store: s, keep: keep, now: now, pace: pace{time.Now()}}
	for from := info.State.FirstSeq; from <= info.State.LastSeq && !e.done; from += expirePart {
		for m, err := range s.bus.Range(ctx, s.recordStream, from, min(from+expirePart-1, info.State.LastSeq)) {
			if err == nil {
				err = e.look(ctx, m)
			}
			if err != nil {
				return e.deleted, err
			}
			if e.done {
				break
			}
		}
	}
	return e.deleted, nil
}

// expiry is an [Store.Expire] that runs.
type expiry struct {
	store   *Store
	keep    Retention
	now     time.Time
	pace    pace
	deleted int
	done    bool // all further sessions are kept
}

// look deletes the session of a record, or finds that it is kept.
func (e *expiry) look(ctx context.Context, m *eventbus.Message) error {
	id, mark := e.store.parseKey(m.Subject)
	if id == "" || mark || len(m.Data) == 0 {
		return nil
	}
	r, err := decodeRecord(m.Data)
	if err != nil || !r.Closed {
		return err
	}
	if e.keep.Age <= 0 || e.now.Sub(r.EndedAt) < e.keep.Age {
		large, err := e.store.exceeds(ctx, e.keep.Bytes)
		if err != nil || !large {
			e.done = true
			return err
		}
	}
	if r.Depth > 0 { // it goes with its root
		return nil
	}
	n, err := e.store.deleteTree(ctx, r)
	e.deleted += n
	if err != nil && !errors.Is(err, ErrRunning) {
		return err
	}
	return e.pace.rest(ctx)
}

// pace divides long work into slices.
type pace struct{ began time.Time } // the slice

// rest waits for an expirePause where the slice has taken an expireSlice.
func (p *pace) rest(ctx context.Context) error {
	if time.Since(p.began) < expireSlice {
		return nil
	}
	select {
	case <-time.After(expirePause):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.began = time.Now()
	return nil
}

// exceeds reports whether the embedded store holds more than limit bytes; 0 means no
// limit.
func (s *Store) exceeds(ctx context.Context, limit uint64) (bool, error) {
	if limit == 0 || !s.bus.Health().Embedded {
		return false, nil
	}
	var total uint64
	for _, name := range []string{eventbus.Stream, eventbus.PayloadStream} {
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
