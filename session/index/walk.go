package index

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/record"
)

// walk collects the sessions of a page, from the end of the bucket backwards.
type walk struct {
	index   *Index
	options ListOptions
	first   uint64 // of the bucket
	found   []marked
	at      uint64          // the bucket was read down to it
	older   bool            // there is more below, stored before Since
	left    bool            // Since has left out a session
	above   map[string]bool // ids of sessions whose marks were read
	changed map[string]bool // ids of sessions whose record was written since then
}

// down collects the sessions with marks below a sequence number. It stops when there are
// enough, or when all further marks were stored before Since.
func (w *walk) down(ctx context.Context, before uint64) error {
	w.at = before
	for width := uint64(6 * w.options.Limit); w.at > w.first && len(w.found) <= w.options.Limit && !w.older; width *= 4 {
		from := w.first
		if w.at-w.first > width {
			from = w.at - width
		}
		marks, err := w.read(ctx, from, w.at-1)
		if err != nil {
			return err
		}
		w.at = from
		slices.Reverse(marks)
		for part := range slices.Chunk(marks, w.options.Limit+1) {
			if len(w.found) > w.options.Limit {
				break
			}
			if err := w.collect(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the marks between two sequence numbers that were stored since Since. It also
// notes the sessions whose records are there.
func (w *walk) read(ctx context.Context, from, to uint64) (marks []marked, err error) {
	for m, err := range w.index.bus.Range(ctx, w.index.stream, from, to) {
		if err != nil {
			return nil, err
		}
		id, mark := w.index.parseKey(m.Subject)
		switch {
		case id == "" || len(m.Data) == 0:
		case m.Time.Before(w.options.Since):
			w.older = true
		case !mark:
			w.changed[id] = true
		default:
			w.above[id] = true
			r, err := record.Decode(m.Data)
			if err != nil {
				return nil, err
			}
			if r.Closed && r.EndedAt.Before(w.options.Since) { // it got its mark after its end
				w.left = true
				continue
			}
			marks = append(marks, marked{m.Seq, r})
		}
	}
	return marks, nil
}

// collect collects the sessions that belong on the page.
func (w *walk) collect(ctx context.Context, marks []marked) error {
	records, err := w.index.resolve(ctx, marks)
	if err != nil {
		return err
	}
	for i, r := range records {
		switch {
		case r == nil:
		case r.Nested && r.Status.Ended() && !w.options.Nested:
		case r.Status.Ended() && r.EndedAt.Before(w.options.Since):
			w.left = true
		default:
			w.found = append(w.found, marked{marks[i].seq, r})
		}
	}
	return nil
}

// long collects the sessions with marks from before Since that had not ended at that time.
// The walk began at before, and the bucket ends at last.
func (w *walk) long(ctx context.Context, before, last uint64) error {
	if _, err := w.read(ctx, before, last); err != nil {
		return err
	}
	open, err := w.index.Unended(ctx)
	if err != nil {
		return err
	}
	for _, o := range open {
		w.changed[o.ID] = true
	}
	maps.DeleteFunc(w.changed, func(id string, _ bool) bool { return w.above[id] })
	ids := slices.Collect(maps.Keys(w.changed))
	marks, errs := make([]marked, len(ids)), make([]error, len(ids))
	AtOnce(len(ids), func(i int) { marks[i], errs[i] = w.index.markOf(ctx, ids[i]) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	marks = slices.DeleteFunc(marks, func(m marked) bool { return m.seq == 0 || m.seq >= before })
	slices.SortFunc(marks, func(a, b marked) int { return int(b.seq) - int(a.seq) })
	w.left = true
	return w.collect(ctx, marks)
}

// markOf returns the mark of a session; zero means it has none, or was deleted.
func (x *Index) markOf(ctx context.Context, id string) (marked, error) {
	r, _, err := x.Read(ctx, id)
	if err != nil {
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			err = nil
		}
		return marked{}, err
	}
	entry, err := x.records.Get(ctx, x.markKey(r.Path))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return marked{}, nil
	}
	if err != nil {
		return marked{}, err
	}
	return marked{entry.Revision(), r}, nil
}
