package index

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// tryRows sends the records of rows one after the other, and reports which are known to be
// stored. A new record is sent after its mark.
func (w *Writer) tryRows(ctx context.Context, rows []*indexRow, records []*record.Record) (written []bool) {
	writes := make([]eventbus.Write, 0, 2*len(rows))
	written = make([]bool, len(rows))
	for i, r := range records {
		data, err := json.Marshal(r)
		if written[i] = err == nil; err != nil {
			continue // writeRow has the error
		}
		if rows[i].rev == 0 {
			writes = append(writes, eventbus.Write{Subject: w.index.subject(w.index.markKey(r.Path)), Data: data})
		}
		writes = append(writes, eventbus.Write{Subject: w.index.subject(w.index.Key(r.ID)), Data: data, Last: rows[i].rev})
	}
	results := w.index.bus.Store().TryAll(ctx, writes)
	for i, row := range rows {
		if !written[i] {
			continue
		}
		if row.rev == 0 {
			marked := results[0].Err
			written[i] = marked == nil || eventbus.IsConflict(marked) // then it has one
			results = results[1:]
		}
		if stored := results[0]; stored.Err != nil {
			written[i] = false
		} else if written[i] {
			row.rev = stored.Seq
		}
		results = results[1:]
	}
	return written
}

// writeRow stores a form of a session's record by compare-and-set. kept false means that
// the record no longer belongs to this process. The session has learnt that.
func (w *Writer) writeRow(ctx context.Context, row *indexRow, next *record.Record) (kept bool, err error) {
	rev, err := w.index.Update(ctx, next, row.rev)
	if err == nil {
		row.rev = rev
	}
	if !errors.Is(err, ErrConflict) {
		return true, err
	}
	// Ours, stored, and its acknowledgement lost; or another process's.
	stored, current, err := w.index.Read(ctx, next.ID)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound): // deleted with its log, or with its bucket
		if gone, err := w.deleted(ctx, next); gone || err != nil {
			return !gone, err
		}
		current = 0
	case err != nil:
		return true, err
	case stored.EndedBy != "" || stored.BootID != next.BootID || stored.Status.Ended() && !next.Status.Ended():
		row.owner.Claimed(stored)
		return false, nil
	}
	if rev, err = w.index.Update(ctx, next, current); err == nil {
		row.rev = rev
	}
	return true, err
}

// deleted reports whether a session was deleted. Only an ended session can be.
func (w *Writer) deleted(ctx context.Context, r *record.Record) (bool, error) {
	if !r.Closed {
		return false, nil
	}
	end, err := w.index.bus.Last(ctx, r.Path, event.SessionEnd{}.Type())
	return end.Seq == 0, err
}
