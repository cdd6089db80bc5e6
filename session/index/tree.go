package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// List returns the records of all sessions, the newest first.
func (x *Index) List(ctx context.Context) ([]*record.Record, error) {
	var all []*record.Record
	for o := (ListOptions{Nested: true}); ; {
		page, err := x.Page(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if o.Cursor = page.Next; o.Cursor == "" {
			return all, nil
		}
	}
}

// Tree returns the records of the session at the end of path and of all below it, the
// newest first. The cost depends on what it returns.
func (x *Index) Tree(ctx context.Context, path event.Path) ([]*record.Record, error) {
	x.Settle(ctx, "")
	subject := "$KV." + BucketName + "." + x.markKey(path)
	info, err := x.stream.Info(ctx, jetstream.WithSubjectFilter(subject+".>"))
	if err != nil {
		return nil, fmt.Errorf("listing the sessions below %s: %w", path[len(path)-1].SessionID, err)
	}
	tree := []marked{{Record: &record.Record{ID: path[len(path)-1].SessionID, Path: path}}}
	for below := range info.State.Subjects {
		at := path
		for id := range strings.SplitSeq(strings.TrimPrefix(below, subject+"."), ".") {
			at = at.Child(id, "")
		}
		tree = append(tree, marked{Record: &record.Record{ID: at[len(at)-1].SessionID, Path: at}})
	}
	records, err := x.resolve(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("listing the sessions below %s: %w", path[len(path)-1].SessionID, err)
	}
	records = slices.DeleteFunc(records, func(r *record.Record) bool { return r == nil })
	slices.SortStableFunc(records, func(a, b *record.Record) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return records, nil
}

// Holders returns the open sessions with a resident file of this name, without the session
// of one id. It first has the records of this process stored, and then reads the index.
func (x *Index) Holders(ctx context.Context, resident, except string) ([]*record.Record, error) {
	var holders []*record.Record
	for o := (ListOptions{Since: time.Now()}); ; {
		page, err := x.Page(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Sessions {
			if r.Resident == resident && r.ID != except && !r.Status.Ended() {
				holders = append(holders, r)
			}
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return holders, nil
		}
	}
}

// Below returns what the sessions right below one have used that have ended, each with those
// below it.
func (x *Index) Below(ctx context.Context, path event.Path) (total record.Total, err error) {
	tree, err := x.Tree(ctx, path)
	for _, r := range tree {
		if len(r.Path) == len(path)+1 && r.Closed && r.Total != nil { // else it may go on, and end anew
			total = total.Add(*r.Total)
		}
	}
	return total, err
}

// CallerEnd returns how the session of a caller that has gone ends: as completed if all subagents
// right below it have ended, and none was interrupted.
func (x *Index) CallerEnd(ctx context.Context, path event.Path) (record.Status, error) {
	tree, err := x.Tree(ctx, path)
	if err != nil {
		return record.Interrupted, err
	}
	below := 0
	for _, r := range tree {
		if len(r.Path) == len(path)+1 && !r.Detached {
			if below++; r.Status == record.Interrupted || !r.Status.Ended() {
				return record.Interrupted, nil
			}
		}
	}
	if below == 0 {
		return record.Interrupted, nil
	}
	return record.Completed, nil
}
