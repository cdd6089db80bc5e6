package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// State returns the state that the log of the session at the end of path gives.
func (x *Index) State(ctx context.Context, path event.Path) (*log.State, error) {
	var failed error
	state, err := log.Fold(func(yield func(log.Entry) bool) {
		for e, err := range x.bus.Log(ctx, path) {
			if err != nil {
				failed = err
				return
			}
			if !yield(log.Entry(e)) {
				return
			}
		}
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path[len(path)-1].SessionID, err)
	}
	return state, nil
}

func (x *Bucket) Key(id string) string { return x.bus.Workspace() + "." + id }

// ErrConflict is returned for a record that has changed meanwhile.
var ErrConflict = errors.New("its record has been changed meanwhile")

// Read returns the record of a session and its revision. The id must be complete.
func (x *Index) Read(ctx context.Context, id string) (*record.Record, uint64, error) {
	entry, err := x.records.Get(ctx, x.Key(id))
	if err != nil {
		return nil, 0, fmt.Errorf("reading session %s: %w", id, err)
	}
	r, err := record.Decode(entry.Value())
	return r, entry.Revision(), err
}

// ClaimedFrom returns the record of a session that another process has ended or claimed;
// nil means none has. bootID is this process's. The id must be complete.
func (x *Index) ClaimedFrom(ctx context.Context, id, bootID string) (*record.Record, error) {
	r, _, err := x.Read(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) { // not stored yet
		return nil, nil
	}
	if err != nil || r.EndedBy == "" && r.BootID == bootID {
		return nil, err
	}
	return r, nil
}

// Stored is a record with its stored revision.
type Stored struct {
	*record.Record
	Rev uint64 // 0 means none is stored
}

// Update stores r if its stored revision still is rev, and returns the new one. With rev 0,
// it stores r only if the session has no record yet. It then stores the session's mark
// first.
func (x *Index) Update(ctx context.Context, r *record.Record, rev uint64) (uint64, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	if rev == 0 {
		if err := x.mark(ctx, r); err != nil {
			return 0, err
		}
	}
	next, err := x.records.Update(ctx, x.Key(r.ID), data, rev)
	if eventbus.IsConflict(err) {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, ErrConflict)
	}
	if err != nil {
		return 0, fmt.Errorf("storing session %s: %w", r.ID, err)
	}
	return next, nil
}

// Get returns the record of a session, or [record.ErrNotFound]. The beginning of an id is
// enough if only one session's id begins with it; otherwise the error is
// [record.ErrAmbiguous].
func (x *Index) Get(ctx context.Context, id string) (*record.Record, error) {
	if !event.ValidID(id) {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	x.Settle(ctx, id)
	entry, err := x.records.Get(ctx, x.Key(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		var found string
		if found, err = x.byStart(ctx, id); errors.Is(err, record.ErrNotFound) {
			return x.Begun(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		entry, err = x.records.Get(ctx, x.Key(found))
	}
	if err != nil {
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	r, err := record.Decode(entry.Value())
	if err != nil {
		return nil, err
	}
	return x.current(ctx, r)
}

// byStart returns the id of the only session whose id begins with start.
func (x *Index) byStart(ctx context.Context, start string) (string, error) {
	x.Settle(ctx, "")
	ids, err := x.ids(ctx)
	if err != nil {
		return "", fmt.Errorf("looking for session %s: %w", start, err)
	}
	return record.Find(record.Newest(ids, start), start, "session", func(id string) string { return id })
}

// Begun returns the record of a session that has only just begun: its log is stored, its
// record not yet.
func (x *Index) Begun(ctx context.Context, id string) (*record.Record, error) {
	open, err := x.Unended(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		if o.ID == id {
			state, err := x.State(ctx, o.Path)
			if err != nil {
				return nil, err
			}
			return state.RecordOr(o.Record), nil
		}
	}
	r, _, err := x.Read(ctx, id) // it may have come meanwhile
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	if err != nil {
		return nil, err
	}
	return x.current(ctx, r)
}

// Settle has the current records of this process's sessions stored. An empty id means all
// of them.
func (x *Index) Settle(ctx context.Context, id string) {
	if x.writer != nil {
		x.writer.settle(ctx, id)
	}
}

// current returns the record of a session or, if its log has ended, the record from the
// log. So a caller that has seen session_end finds the session ended, even if the bucket
// lags.
func (x *Index) current(ctx context.Context, r *record.Record) (*record.Record, error) {
	if r.Closed {
		return r, nil
	}
	end, err := x.bus.Last(ctx, r.Path, event.SessionEnd{}.Type())
	if err != nil || end.Seq == 0 {
		return r, err
	}
	state, err := x.State(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	return state.RecordOr(r), nil
}
