package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// cleanup is a session that will be deleted.
type cleanup struct {
	Path event.Path `json:"path"`
	Read bool       `json:"read,omitempty"` // somebody has got the full result by an operation
}

// WantCleanup notes that a session will be deleted. Call it before the session begins.
func (ret *Retention) WantCleanup(ctx context.Context, r *record.Record) error {
	return ret.putCleanup(ctx, &cleanup{Path: r.Path})
}

// NoteRead notes that somebody has got the full result of a session by an operation. It
// costs nothing for sessions that are not deleted.
func (ret *Retention) NoteRead(ctx context.Context, r *record.Record) error {
	if !r.Cleanup || !r.Background {
		return nil
	}
	return ret.putCleanup(ctx, &cleanup{r.Path, true})
}

func (ret *Retention) putCleanup(ctx context.Context, c *cleanup) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = ret.index.KV().Put(ctx, ret.index.Key(cleanupToken+strings.Join(c.Path.IDs(), ".")), data)
	}
	if err != nil {
		return fmt.Errorf("noting that session %s will be deleted: %w", c.Path[len(c.Path)-1].SessionID, err)
	}
	return nil
}

// CleanUp deletes the sessions that their callers want deleted, with those below them, and
// returns how many. It may be interrupted and called again, in several processes at once.
// It keeps a session whose result may not have been delivered:
//
// - its caller's session has not ended - its result is not in its caller's log or, in the
// background, nobody has read it
//
// It also keeps sessions that somebody may resume: they were stopped or interrupted, were
// resumed already, or have a worktree left.
func (ret *Retention) CleanUp(ctx context.Context) (deleted int, err error) {
	ret.index.Settle(ctx, "")
	keys, err := ret.below(ctx, cleanupToken, "")
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		n, err := ret.cleanUp(ctx, key)
		deleted += n
		if err != nil {
			return deleted, fmt.Errorf("deleting a session whose result was delivered: %w", err)
		}
	}
	return deleted, nil
}

// cleanUp deletes the session of a key if it may be deleted.
func (ret *Retention) cleanUp(ctx context.Context, ids string) (deleted int, err error) {
	entry, err := ret.index.KV().Get(ctx, ret.index.Key(cleanupToken+ids))
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
	r, _, err := ret.index.Read(ctx, id)
	missing := errors.Is(err, jetstream.ErrKeyNotFound)
	if err != nil && !missing {
		return 0, err
	}
	begun, err := ret.deletes(ctx, ids)
	switch {
	case err != nil:
		return 0, err
	case missing && begun: // it is deleted
		return 0, ret.index.Purge(ctx, ret.index.Key(cleanupToken+ids))
	case missing: // it has not begun
		return 0, nil
	case !begun:
		if ok, err := ret.mayCleanUp(ctx, r, &c); !ok || err != nil {
			return 0, err
		}
		if ok, err := ret.keepUsage(ctx, r); !ok || err != nil {
			return 0, err
		}
	}
	deleted, err = ret.deleteTree(ctx, r)
	if err != nil {
		return deleted, err
	}
	return deleted, ret.index.Purge(ctx, ret.index.Key(cleanupToken+ids))
}

// mayCleanUp reports whether a session's result was delivered and nobody will resume it.
func (ret *Retention) mayCleanUp(ctx context.Context, r *record.Record, c *cleanup) (bool, error) {
	switch {
	case !r.Closed, r.Status == record.Cancelled, r.Status == record.Interrupted, r.Worktree != nil && !r.Worktree.Removed, r.Background && !c.Read:
		return false, nil
	}
	if next, err := ret.index.Resumed(ctx, r.ID); next != nil || err != nil {
		return false, err
	}
	caller, err := ret.index.State(ctx, r.Path[:len(r.Path)-1])
	if err != nil || !caller.Record.Closed {
		return false, err
	}
	return r.Background || slices.ContainsFunc(caller.Messages, func(m *log.Message) bool { return m.ID == log.ResultsID(r.ParentMessageID) }), nil
}
