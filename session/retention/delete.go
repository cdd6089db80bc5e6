package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/record"
)

// ErrRunning is returned for the deletion of a session that, or one below which, has not
// ended.
var ErrRunning = errors.New("it has not ended")

// Delete deletes the session of an id and all below it, and returns how many it has
// deleted. Their events, messages, payloads, approvals and records go. What a subagent has
// used still counts in its caller's budget. If one of them has not ended, the error is
// [ErrRunning] and nothing is deleted. A deletion that was interrupted can be repeated, as
// the record goes last.
func (ret *Retention) Delete(ctx context.Context, id string) (int, error) {
	if !event.ValidID(id) {
		return 0, &record.NotFoundError{What: "session", ID: id}
	}
	ret.index.Settle(ctx, id)
	r, _, err := ret.index.Read(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if r, err = ret.index.Begun(ctx, id); err == nil {
			err = fmt.Errorf("session %s (%s) can't be deleted: %w", r.ID, r.Status, ErrRunning)
		}
	}
	if err != nil {
		return 0, err
	}
	if _, err := ret.keepUsage(ctx, r); err != nil {
		return 0, err
	}
	return ret.deleteTree(ctx, r)
}

// deleteTree is [Retention.Delete] for the session of a record. It does not keep what was
// used.
func (ret *Retention) deleteTree(ctx context.Context, top *record.Record) (int, error) {
	tree, err := ret.index.Tree(ctx, top.Path)
	if err != nil {
		return 0, err
	}
	for _, r := range tree {
		if !r.Closed {
			return 0, fmt.Errorf("session %s (%s) can't be deleted: %w", r.ID, r.Status, ErrRunning)
		}
	}
	approvals, err := ret.asked(ctx, tree)
	if err != nil {
		return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
	}
	if err := ret.bus.Purge(ctx, top.Path); err != nil { // the logs of all of them, at once
		return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
	}
	if top.Depth == 0 {
		for _, token := range []string{cleanupToken, cleanedToken} { // of those below it
			if err := ret.index.Purge(ctx, ret.index.Key(token+top.ID)+".>"); err != nil {
				return 0, fmt.Errorf("deleting session %s: %w", top.ID, err)
			}
		}
	}
	slices.SortFunc(tree, func(a, b *record.Record) int { return b.Depth - a.Depth }) // the session itself last
	deleted := 0
	for len(tree) > 0 {
		level := slices.IndexFunc(tree, func(r *record.Record) bool { return r.Depth != tree[0].Depth })
		if level < 0 {
			level = len(tree)
		}
		errs := make([]error, level)
		index.AtOnce(level, func(i int) { errs[i] = ret.deleteOne(ctx, tree[i], approvals[tree[i].ID]) })
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

// asked returns the approvals that some sessions have asked for, by session.
func (ret *Retention) asked(ctx context.Context, sessions []*record.Record) (map[string][]*approval.Approval, error) {
	questions, errs := make([]bool, len(sessions)), make([]error, len(sessions))
	index.AtOnce(len(sessions), func(i int) {
		for _, asks := range []event.Event{event.ToolApprovalRequired{}, event.QuestionAsked{}} {
			last, err := ret.bus.Last(ctx, sessions[i].Path, asks.Type())
			questions[i], errs[i] = questions[i] || last.Seq > 0, errors.Join(errs[i], err)
		}
	})
	if err := errors.Join(errs...); err != nil || !slices.Contains(questions, true) {
		return nil, err
	}
	all, err := ret.approvals.All(ctx)
	if err != nil {
		return nil, err
	}
	of := make(map[string][]*approval.Approval)
	for _, a := range all {
		of[a.SessionID] = append(of[a.SessionID], a)
	}
	return of, nil
}

// deleteOne deletes what is stored of a session besides its log.
func (ret *Retention) deleteOne(ctx context.Context, r *record.Record, approvals []*approval.Approval) error {
	for _, a := range approvals {
		if err := ret.approvals.Purge(ctx, a.ID); err != nil {
			return err
		}
	}
	return ret.index.Remove(ctx, r)
}
