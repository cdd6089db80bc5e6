package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// Deleted is a session that was deleted, or is being deleted.
type Deleted struct {
	ID     string
	Opened int64        // when it was opened, in nanoseconds of Unix time
	Totals []log.Totals // what it and those below it have used

	ids []string // the path to it, from the root
}

// keepUsage stores what a session and those below it have used, for budgets shared with
// others. It reports false if one of them has not ended.
func (ret *Retention) keepUsage(ctx context.Context, top *record.Record) (bool, error) {
	tree, err := ret.index.Tree(ctx, top.Path)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(tree, func(r *record.Record) bool { return !r.Closed }) {
		return false, nil
	}
	if top.Depth > 0 {
		if err := ret.keepBelow(ctx, top.Path[:len(top.Path)-1], top, tree); err != nil {
			return false, err
		}
	}
	for _, r := range tree {
		if r.Resumes == "" {
			continue
		}
		before, err := ret.whereabouts(ctx, r.Resumes)
		if err == nil && before != nil && !before.Below(top.ID) {
			err = ret.keepBelow(ctx, before.Path, r, tree)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// whereabouts returns a record with a session's path. If the session was deleted, the path
// may be that of a session that was deleted with it. nil means neither is known.
func (ret *Retention) whereabouts(ctx context.Context, id string) (*record.Record, error) {
	r, _, err := ret.index.Read(ctx, id)
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return r, err
	}
	deleted, err := ret.deletedBelow(ctx, "")
	for _, d := range deleted {
		if slices.ContainsFunc(d.Totals, func(of log.Totals) bool { return of.ID == id }) {
			r = &record.Record{}
			for _, id := range d.ids {
				r.Path = r.Path.Child(id, "")
			}
			return r, nil
		}
	}
	return nil, err
}

// keepBelow stores, below another session, what top and those below it have used. Those are
// in the tree. It does nothing if that is stored already.
func (ret *Retention) keepBelow(ctx context.Context, above event.Path, top *record.Record, tree []*record.Record) error {
	key := ret.index.Key(cleanedToken + strings.Join(above.Child(top.ID, "").IDs(), "."))
	before, err := ret.Deleted(ctx, top.Path)
	if err != nil {
		return err
	}
	var used []log.Totals
	for _, r := range tree {
		if !r.Below(top.ID) || slices.ContainsFunc(before, func(d *Deleted) bool { return d.holds(r, tree) }) {
			continue // it is below another session, or has a key of its own
		}
		state, err := ret.index.State(ctx, r.Path)
		if err != nil {
			return err
		}
		of := state.Totals()
		of.ID = r.ID
		used = append(used, of)
	}
	data, err := json.Marshal(used)
	if err == nil {
		_, err = ret.index.KV().Create(ctx, fmt.Sprintf("%s=%d", key, top.CreatedAt.UnixNano()), data)
	}
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) { // otherwise another process was first, or this one was interrupted
		return fmt.Errorf("noting what session %s has used: %w", top.ID, err)
	}
	return nil
}

// holds reports whether a record's session is the deleted one, or below it. The record is
// one of the tree.
func (d *Deleted) holds(r *record.Record, tree []*record.Record) bool {
	return r.Below(d.ID) && slices.ContainsFunc(tree, func(top *record.Record) bool {
		return top.ID == d.ID && d.Opened == top.CreatedAt.UnixNano()
	})
}

// Left returns the records whose sessions are not being deleted.
func Left(records []*record.Record, deleted []*Deleted) []*record.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool {
		return slices.ContainsFunc(deleted, func(d *Deleted) bool { return d.holds(r, records) })
	})
}

// deletes reports whether the session that ids lead to was deleted, or is being deleted.
func (ret *Retention) deletes(ctx context.Context, ids string) (bool, error) {
	keys, err := ret.below(ctx, cleanedToken, ids[:strings.LastIndexByte(ids, '.')])
	return slices.ContainsFunc(keys, func(key string) bool {
		of, _, _ := strings.Cut(key, "=")
		return of == ids
	}), err
}

// Deleted returns the sessions that were deleted, or are being deleted, below another
// session. It includes sessions that resume one of those below.
func (ret *Retention) Deleted(ctx context.Context, top event.Path) ([]*Deleted, error) {
	return ret.deletedBelow(ctx, strings.Join(top.IDs(), "."))
}

// deletedBelow is Deleted for the session that ids lead to; empty means for all.
func (ret *Retention) deletedBelow(ctx context.Context, ids string) (all []*Deleted, err error) {
	keys, err := ret.below(ctx, cleanedToken, ids)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		entry, err := ret.index.KV().Get(ctx, ret.index.Key(cleanedToken+key))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		path, opened, _ := strings.Cut(key, "=")
		d := &Deleted{ids: strings.Split(path, ".")}
		d.ID = d.ids[len(d.ids)-1]
		if err := json.Unmarshal(entry.Value(), &d.Totals); err != nil {
			return nil, fmt.Errorf("what session %s has used: %w", key, err)
		}
		d.Opened, _ = strconv.ParseInt(opened, 10, 64)
		all = append(all, d)
	}
	return all, nil
}
