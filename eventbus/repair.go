package eventbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// repairPause is the pause between two attempts while the store refuses messages because it is
// unavailable. It answers at once, so a loop without a pause would be busy.
const repairPause = 20 * time.Millisecond

// repairTime is how long a repair tries before it looks for how long the store may be away:
// it may have turned out to be broken, or to be stopped. Each further try has twice the time,
// since a busy store may need it for one of its steps.
const repairTime = 10 * time.Second

// staleID is how long a cluster may say that an entry is on its way already. After that the
// entry gets another id. A server that stops leading keeps the ids of entries that it had not
// stored, and that were lost. When it leads again it refuses them as duplicates. In a batch it
// skips them without a word, and stores what is behind them. So an entry that may have been
// sent before goes alone. One that really is on its way is stored in milliseconds.
const staleID = 2 * time.Second

// repair restores the order of a writer after a lost connection, a lost batch or a refused
// entry. It keeps back what has not arrived yet, finds out what is stored, and queues the rest
// again.
type repair struct {
	done chan struct{}
	err  error // once done: why the store is given up
}

// failed reports whether the repair is done and has given up.
func (r *repair) failed() bool {
	select {
	case <-r.done:
		return r.err != nil
	default:
		return false
	}
}

// lost is called when a connection has ended.
func (w *writer) lost(conn *natsstore.PublishConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == conn {
		w.fail()
	}
}

// fail keeps everything from being sent until a repair. The caller holds mu, as for
// the methods below.
func (w *writer) fail() {
	if w.refusing.IsZero() {
		w.refusing = time.Now()
	}
	w.broken = true
	if !w.sending && (w.flight != nil || len(w.queue) > 0) {
		w.repair()
	}
}

// repair returns the repair that runs, or starts one.
func (w *writer) repair() *repair {
	if w.repairing != nil {
		return w.repairing
	}
	r := &repair{done: make(chan struct{})}
	if w.closed {
		r.err = context.Cause(w.ctx)
		close(r.done)
		return r
	}
	w.repairing = r
	w.running.Go(func() { w.mend(r) })
	return r
}

// mend is the goroutine of a repair.
func (w *writer) mend(r *repair) {
	w.mu.Lock()
	for w.sending {
		w.idle.Wait()
	}
	w.mu.Unlock()
	began := time.Now()
	late, err := w.mendWithin(repairTime)
	for left := w.left(began); late && left > 0; left = w.left(began) {
		late, err = w.mendWithin(min(left, 2*repairTime))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.repairing = nil
	if err != nil {
		r.err = fmt.Errorf("%w%s", err, w.store.Health().Diagnosis)
		w.giveUp(r.err)
	} else {
		w.broken = false
		w.pump()
	}
	close(r.done)
}

// left returns how much longer a repair may take.
func (w *writer) left(began time.Time) time.Duration {
	return w.store.AckTimeout() - w.store.Waited(began)
}

// mendWithin repeats mendOnce while that may help. late: the time was up.
func (w *writer) mendWithin(limit time.Duration) (late bool, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	err = w.mendOnce(ctx)
	for err != nil && ctx.Err() == nil && w.mayPass(err) {
		pause(ctx, repairPause)
		err = w.mendOnce(ctx)
	}
	return err != nil && ctx.Err() != nil && w.ctx.Err() == nil, err
}

// mayPass reports whether err says nothing of what was sent, so that it is sent
// again.
func (w *writer) mayPass(err error) bool {
	return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, errBehind) || w.store.Away(err) || natsstore.Unordered(err)
}

// mendOnce queues again what is on its way and not stored. It is called without mu.
func (w *writer) mendOnce(ctx context.Context) error {
	w.mu.Lock()
	conn, f, refusing := w.conn, w.flight, w.refusing
	w.mu.Unlock()
	if f != nil && f.result.Err != nil && w.mayPass(f.result.Err) {
		if since := time.Since(refusing); since > w.store.AckTimeout() {
			return fmt.Errorf("the event store has accepted nothing for %s: %w", since.Round(time.Second), f.result.Err)
		}
		pause(ctx, repairPause)
	}
	if conn == nil || conn.Ended() {
		var err error
		if conn, err = w.store.PublishConn(ctx); err != nil {
			return err
		}
	}
	if f == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.connect(conn)
		return nil
	}
	if err := conn.EndBatch(ctx, f.batch.ID(), f.entries[0].subject); err != nil {
		return fmt.Errorf("ending a batch: %w", err)
	}
	last, fenced, err := w.find(ctx, f)
	if e := f.refused(); err == nil && e != nil && IsConflict(f.result.Err) {
		err = w.findFence(ctx, e, f.result.Err, fenced)
	}
	if err != nil {
		return fmt.Errorf("looking for the last event: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge(f)
	for p := range fenced { // by another process, which considered this one gone
		_ = p.end(ErrEnded)
	}
	w.again(f, last)
	w.connect(conn)
	return nil
}

// judge ends the publisher of an entry that the store has refused.
func (w *writer) judge(f *flight) {
	if natsstore.NoBatches(f.result.Err) {
		w.batches = false
	}
	e := f.refused()
	switch {
	case e == nil || e.stored || IsConflict(f.result.Err):
	case natsstore.OnItsWay(f.result.Err):
		switch now := time.Now(); {
		case e.stuck.IsZero():
			e.stuck = now
		case now.Sub(e.stuck) > staleID: // the next leader may have kept that id in turn
			e.stuck = time.Time{}
			e.renamed++
		}
	case !w.mayPass(f.result.Err):
		_ = e.p.end(e.p.storing(e.number, f.result.Err))
	}
}

// refused returns the entry that the store has refused; nil means none, or it is unknown.
func (f *flight) refused() *entry {
	if at := f.result.At; at > 0 && at <= len(f.entries) {
		return f.entries[at-1]
	}
	return nil
}

// again acknowledges what is stored of a flight, and queues the rest again.
func (w *writer) again(f *flight, last uint64) {
	var rest []*entry
	for _, e := range f.entries {
		switch {
		case e.stored:
			e.p.acknowledge(e)
			w.refusing = time.Time{}
		case e.p.err == nil:
			e.again = true
			rest = append(rest, e)
			w.bytes += e.size()
		}
	}
	w.queue = append(rest, w.queue...)
	w.flight = nil
	w.acked = max(w.acked, last)
}

// connect makes conn the connection to send on.
func (w *writer) connect(conn *natsstore.PublishConn) {
	if conn == w.conn {
		return
	}
	w.disconnect()
	w.conn = conn
	w.leave = conn.OnEnd(func(context.Context) { w.lost(conn) })
	if conn.Ended() { // perhaps before OnEnd
		w.running.Go(func() { w.lost(conn) })
	}
}

func (w *writer) disconnect() {
	if w.conn != nil {
		w.leave()
		w.conn, w.leave = nil, nil
	}
}

// giveUp ends the publishers of all that is not known to be stored.
func (w *writer) giveUp(err error) {
	lost := w.queue
	if w.flight != nil {
		lost = slices.Concat(w.flight.entries, lost)
	}
	for _, e := range lost {
		_ = e.p.end(e.p.storing(e.number, err))
	}
	w.flight, w.spare, w.refusing, w.broken = nil, nil, time.Time{}, true
	w.take(len(w.queue), w.bytes)
	if conn := w.conn; conn != nil {
		w.disconnect()
		conn.End()
	}
}

func (w *writer) unanswered(waited time.Duration) error {
	return fmt.Errorf("the event store did not acknowledge it within %s%s", waited.Round(time.Second), w.store.Health().Diagnosis)
}

// find marks which entries of a flight are stored: of each publisher the first ones. Another
// process may have stored the same on the same subject, after its own fence. It returns the
// sequence number of the last one, and the publishers that have a later fence than they know.
func (w *writer) find(ctx context.Context, f *flight) (last uint64, fenced map[*Publisher]bool, err error) {
	fenced = make(map[*Publisher]bool)
	left := make(map[*Publisher][]*entry)
	of := make(map[string][]*Publisher) // by subject
	add := func(subject string, p *Publisher) {
		if !slices.Contains(of[subject], p) {
			of[subject] = append(of[subject], p)
		}
	}
	for _, e := range f.entries {
		e.stored = false
		left[e.p] = append(left[e.p], e)
		add(e.subject, e.p)
		add(e.p.fenceSubject, e.p)
	}
	_, err = w.reader.replay(ctx, w.events, []string{w.filter}, w.acked+1, forever, func(m *stored) (bool, error) {
		for _, p := range of[m.Subject] {
			next := left[p]
			switch {
			case m.Seq <= p.known || fenced[p]: // it is another publisher's
			case m.Subject == p.fenceSubject:
				fenced[p] = true
			case len(next) > 0 && next[0].subject == m.Subject && next[0].is(m):
				next[0].stored, left[p], last = true, next[1:], m.Seq
				return true, nil
			}
		}
		return true, nil
	})
	return last, fenced, err
}

// findFence finds out whether an entry was refused because of a fence.
func (w *writer) findFence(ctx context.Context, e *entry, refused error, fenced map[*Publisher]bool) error {
	if guard := e.guard(); guard != nil {
		last, err := lastOf(ctx, w.events, []string{guard.fenceSubject})
		if err != nil {
			return err
		}
		if last != nil && last.Sequence > guard.known {
			fenced[e.p] = true
			return nil
		}
	}
	if natsstore.Expected(refused) { // no fence is stored, or not yet: the entry is sent again
		return nil
	}
	return errBehind
}
