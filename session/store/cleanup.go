package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// A session whose caller has said so is deleted with those below it, once its result has
// been delivered: see [Store.CleanUp]. Until then it has a key in the bucket of records,
// and what it has used has another one from before it is deleted:
//
//	<workspace>.cleanup.<root>[.<child>…]
//	<workspace>.cleaned.<root>[.<child>…]
const (
	cleanupToken = "cleanup."
	cleanedToken = "cleaned."
)

// cleanup is a session that is to be deleted.
type cleanup struct {
	Path event.Path `json:"path"`
	Read bool       `json:"read,omitempty"` // somebody has got the whole result by an operation
}

// Spent is what a session has used, as its log says.
type Spent struct {
	Usage     model.Usage `json:"usage"`
	Steps     int         `json:"steps"`
	ToolCalls int64       `json:"toolCalls"`
	Unsettled Unsettled   `json:"unsettled,omitzero"`
}

// Spent returns what the session has used.
func (st *State) Spent() Spent {
	return Spent{st.Record.Usage, st.Record.Steps, st.ToolCalls, st.Unsettled}
}

// WantCleanup notes that a session is to be deleted. It is called before the session begins.
func (s *Store) WantCleanup(ctx context.Context, r *Record) error {
	return s.putCleanup(ctx, &cleanup{Path: r.Path})
}

// NoteRead notes that somebody has got the whole result of a session by an operation. It
// costs nothing for sessions that are not deleted.
func (s *Store) NoteRead(ctx context.Context, r *Record) error {
	if !r.Cleanup || !r.Background {
		return nil
	}
	return s.putCleanup(ctx, &cleanup{r.Path, true})
}

func (s *Store) putCleanup(ctx context.Context, c *cleanup) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = s.records.Put(ctx, s.key(cleanupToken+strings.Join(c.Path.IDs(), ".")), data)
	}
	if err != nil {
		return fmt.Errorf("noting that session %s is to be deleted: %w", c.Path[len(c.Path)-1].SessionID, err)
	}
	return nil
}

// CleanUp deletes the sessions whose callers have said so, with those below them, and
// returns how many. It leaves those whose result may not have been delivered: whose
// caller's session has not ended, or whose result is not in its log; of those in the
// background the ones whose result nobody has read. It leaves also what somebody may
// go on with: sessions that were stopped or cut off, that have a next run, or whose
// worktree is kept. It may be cut off and called again, in several processes at once.
func (s *Store) CleanUp(ctx context.Context) (deleted int, err error) {
	s.settle(ctx, "")
	keys, err := s.below(ctx, cleanupToken, "")
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		n, err := s.cleanUp(ctx, key)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("deleting a session whose result was delivered: %w", err)
		}
	}
	return deleted, nil
}

// below returns the keys of sessions that begin with a token, as the ids from the root
// down: all of them, or those below the session that ids lead to.
func (s *Store) below(ctx context.Context, token, ids string) (keys []string, err error) {
	prefix := s.recordSubject(s.key(token))
	filter := prefix + ">"
	if ids != "" {
		filter = prefix + ids + ".>"
	}
	info, err := s.recordStream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, fmt.Errorf("looking for sessions to delete: %w", err)
	}
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, prefix))
	}
	slices.Sort(keys)
	return keys, nil
}

// cleanUp deletes the session of a key if it may be.
func (s *Store) cleanUp(ctx context.Context, ids string) (deleted int, err error) {
	entry, err := s.records.Get(ctx, s.key(cleanupToken+ids))
	if errors.Is(err, jetstream.ErrKeyNotFound) { // another process was first
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var c cleanup
	if err := json.Unmarshal(entry.Value(), &c); err != nil {
		return 0, fmt.Errorf("the key %s: %w", ids, err)
	}
	id := c.Path[len(c.Path)-1].SessionID
	r, _, err := s.read(ctx, id)
	_, cleaned := s.records.Get(ctx, s.key(cleanedToken+ids))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound) && cleaned == nil: // it is deleted
		return 0, s.purgeKey(ctx, s.records, cleanupToken+ids)
	case errors.Is(err, jetstream.ErrKeyNotFound): // it has not begun
		return 0, nil
	case err != nil:
		return 0, err
	case cleaned != nil:
		if ok, err := s.mayCleanUp(ctx, r, &c); !ok || err != nil {
			return 0, err
		}
		if ok, err := s.keepSpent(ctx, r, ids); !ok || err != nil {
			return 0, err
		}
	}
	deleted, err = s.deleteTree(ctx, r)
	if err != nil {
		return deleted, err
	}
	return deleted, s.purgeKey(ctx, s.records, cleanupToken+ids)
}

// mayCleanUp reports whether the result of a session was delivered, and nobody goes on
// with it.
func (s *Store) mayCleanUp(ctx context.Context, r *Record, c *cleanup) (bool, error) {
	switch {
	case !r.Closed, r.Status == Cancelled, r.Status == Interrupted, r.Worktree != nil && !r.Worktree.Removed, r.Background && !c.Read:
		return false, nil
	}
	if next, err := s.Next(ctx, r.ID); next != nil || err != nil {
		return false, err
	}
	caller, err := s.State(ctx, r.Path[:len(r.Path)-1])
	if err != nil || !caller.Record.Closed {
		return false, err
	}
	return r.Background || slices.ContainsFunc(caller.Messages, func(m *Message) bool { return m.ID == ResultsID(r.ParentMessageID) }), nil
}

// keepSpent stores what a session and those below it have used, for budgets that they
// share with others. It reports false where one of them has not ended.
func (s *Store) keepSpent(ctx context.Context, top *Record, ids string) (bool, error) {
	tree, err := s.Tree(ctx, top.Path)
	if err != nil {
		return false, err
	}
	var spent []Spent
	for _, r := range tree {
		if !r.Closed {
			return false, nil
		}
		state, err := s.State(ctx, r.Path)
		if err != nil {
			return false, err
		}
		spent = append(spent, state.Spent())
	}
	data, err := json.Marshal(spent)
	if err == nil {
		_, err = s.records.Create(ctx, s.key(cleanedToken+ids), data)
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) { // else another process was first
		return false, err
	}
	return true, nil
}

// Cleaned returns which sessions below one were deleted by [Store.CleanUp], or are being
// deleted, and what they have used with those below them.
func (s *Store) Cleaned(ctx context.Context, top event.Path) (ids []string, spent []Spent, err error) {
	keys, err := s.below(ctx, cleanedToken, strings.Join(top.IDs(), "."))
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		entry, err := s.records.Get(ctx, s.key(cleanedToken+key))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		var of []Spent
		if err := json.Unmarshal(entry.Value(), &of); err != nil {
			return nil, nil, fmt.Errorf("what session %s has used: %w", key, err)
		}
		ids, spent = append(ids, key[strings.LastIndexByte(key, '.')+1:]), append(spent, of...)
	}
	return ids, spent, nil
}
