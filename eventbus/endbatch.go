package eventbus

import (
	"cmp"
	"context"
	"fmt"
)

// endBatch ends the batch that a session's entries may have been in when a fence was stored, so
// that the rest of it is not stored behind the fence. The batch is of another process or of this
// one. ended tells that it was not known to have ended before.
func (p *Publisher) endBatch(ctx context.Context, fence uint64) (ended bool, err error) {
	w := p.writer
	ctx, cancel := context.WithTimeout(ctx, w.store.AckTimeout())
	defer cancel()
	batch, err := p.lastBatch(ctx, fence)
	if err != nil || !w.mayRun(batch) {
		return false, err
	}
	for w.sends(batch) { // this process awaits the answer to it, for other sessions too
		if ctx.Err() != nil {
			return false, fmt.Errorf("ending a batch: %w", context.Cause(ctx))
		}
		pause(ctx, repairPause)
	}
	for {
		conn, err := w.store.PublishConn(ctx)
		if err == nil {
			err = conn.EndBatch(ctx, batch, p.fenceSubject)
		}
		if err == nil {
			w.hasEnded(batch)
			return true, nil
		}
		if ctx.Err() != nil || !w.mayPass(err) {
			return false, fmt.Errorf("ending a batch: %w", err)
		}
		pause(ctx, repairPause)
	}
}

// batchRange is the first range, in sequence numbers, that is searched for the last batch of a
// session. Each further one is 16 times as large.
const batchRange = 1024

// lastBatch returns the id of the last batch with entries of a session before a fence; empty
// if none can be on its way.
func (p *Publisher) lastBatch(ctx context.Context, fence uint64) (id string, err error) {
	last, err := lastOf(ctx, p.writer.events, []string{p.subject + ".*", p.entrySubject})
	if err != nil {
		return "", err
	}
	near := fence
	if last != nil { // a server of a cluster may know of an older one: there may be newer ones
		near = min(fence, last.Sequence)
	}
	for size := uint64(batchRange); ; {
		from, entries, all := near-min(near, size), 0, false
		_, err = p.writer.reader.replay(ctx, p.writer.events, []string{p.subject + ".*", p.entrySubject, p.fenceSubject}, from, fence, func(m *stored) (bool, error) {
			if all = m.Seq == fence; m.Subject != p.fenceSubject {
				entries++
				id = cmp.Or(m.Batch, id)
			}
			return true, nil
		})
		switch {
		case err != nil:
			return "", err
		case !all && !p.writer.cluster: // the session was deleted meanwhile
			return "", nil
		case !all && ctx.Err() != nil:
			return "", errBehind
		case !all: // a server is behind
			pause(ctx, behindPause)
		case id != "" || entries >= batchEntries || from == 0:
			return id, nil
		default:
			size *= 16
		}
	}
}

// maxOver is how many ids of ended batches a writer remembers.
const maxOver = 1000

// mayRun reports whether it is not known that a batch has ended. One without id has none.
func (w *writer) mayRun(batch string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return batch != "" && !w.over[batch]
}

// sends reports whether a batch is the one on its way.
func (w *writer) sends(batch string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flight != nil && w.flight.batch.ID() == batch
}

// hasEnded notes that a batch has ended.
func (w *writer) hasEnded(batch string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over == nil || len(w.over) >= maxOver { // one that is not known is ended again
		w.over = make(map[string]bool)
	}
	w.over[batch] = true
}
