package eventbus

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// Limits of a batch. The first entry may be larger.
const (
	batchEntries = 256
	batchBytes   = 1 << 20
)

// Limits of what waits to be sent, of all sessions of a process. The first entry may
// be larger.
const (
	queueEntries = 16 << 10
	queueBytes   = 16 << 20
)

// checkInterval is how often a writer looks whether a batch has been on its way for too
// long.
const checkInterval = natsstore.AttemptTimeout / 3

// writer stores the entries of all publishers of a process in the order of the calls. What is
// queued while a batch is on its way becomes the next batch. The slower the store is, the
// larger are the batches, and the more deltas join.
type writer struct {
	store  *natsstore.Store
	reader reader
	events jetstream.Stream
	filter string // of all that it publishes

	ctx     context.Context // ends with the bus
	running sync.WaitGroup  // what it has started
	nudged  chan struct{}   // has a value if the sender is to look at the queue

	mu       sync.Mutex
	closed   bool
	queue    []*entry
	bytes    int             // of the queue
	flight   *flight         // on its way; nil means none is
	sending  bool            // somebody sends, and takes what is queued meanwhile
	idle     sync.Cond       // nobody does any more
	scratch  []byte          // memory that each message is written into, one after the other
	room     chan struct{}   // closed when half of the queue is free; nil means it has not been full since
	batches  bool            // the stream accepts batches
	flights  uint64          // how many were taken from the queue
	cluster  bool            // of several servers
	acked    uint64          // sequence number in the stream, before the flight
	refusing time.Time       // since when nothing has been acknowledged; zero means all is well
	watching bool            // a timer runs
	over     map[string]bool // ids of ended batches, not this writer's

	conn      *natsstore.PublishConn
	leave     func()   // conn's end no longer calls lost
	broken    bool     // the flight must be repaired, or conn replaced, before anything is sent
	repairing *repair  // the one that runs
	spare     []*entry // memory for the next flight
}

// flight is a batch on its way.
type flight struct {
	batch   *natsstore.Batch
	entries []*entry
	since   time.Time
	waited  time.Duration    // in which this process ran: it may be stopped too
	result  natsstore.Result // if it has failed
}

func newWriter(ctx context.Context, reader reader, events jetstream.Stream, filter string) *writer {
	store := reader.store
	w := &writer{store: store, reader: reader, events: events, filter: filter, ctx: ctx, nudged: make(chan struct{}, 1), broken: true}
	w.idle.L = &w.mu
	info := events.CachedInfo()
	w.batches, w.acked = info.Config.AllowBatchPublish, info.State.LastSeq
	w.cluster = info.Cluster != nil && info.Cluster.Name != ""
	w.running.Go(w.sender)
	return w
}

// wait ends the writer, whose context must have ended.
func (w *writer) wait() {
	w.mu.Lock()
	w.closed = true
	conn := w.conn
	w.mu.Unlock()
	if conn != nil {
		conn.End() // whoever sends does not wait any more
	}
	w.running.Wait()
}

// put queues an entry, which is sent soon if nothing is on its way. It waits while the
// store is away, or too much is queued.
func (w *writer) put(ctx context.Context, e entry) error {
	p := e.p
	began := time.Time{}
	w.mu.Lock()
	for {
		if p.err != nil || p.ending != 0 && !e.last {
			defer w.mu.Unlock()
			return cmp.Or(p.err, ErrEnded)
		}
		if w.ctx.Err() != nil {
			defer w.mu.Unlock()
			return p.end(p.storing(p.count+1, context.Cause(w.ctx)))
		}
		if !w.away() && w.room == nil && len(w.queue) < queueEntries && w.bytes < queueBytes {
			break
		}
		if began.IsZero() {
			began = time.Now()
		}
		if err := w.hold(ctx, p, began); err != nil {
			return err
		}
	}
	defer w.mu.Unlock()
	w.queued(e)
	if !e.last { // whose caller sends it, since it waits at once
		w.nudge()
	}
	return nil
}

// nudge has the sender send what is queued. It does so once a processor is free or the caller
// waits. So what a session publishes in one go is one batch, which halves the time to the
// acknowledgement of eight entries.
func (w *writer) nudge() {
	if w.sending || w.flight != nil {
		return // whoever sends, or takes the answer, sends this too
	}
	select {
	case w.nudged <- struct{}{}:
	default:
	}
}

// sender sends what was queued by callers who don't wait for it.
func (w *writer) sender() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.nudged:
			w.mu.Lock()
			w.pump()
			w.mu.Unlock()
		}
	}
}

// queued adds an entry to the queue, or to the delta before it.
func (w *writer) queued(e entry) {
	p := e.p
	switch {
	case e.last && p.ending != 0: // its sender has stopped waiting for it, and begins again
		return
	case e.data == nil && p.tail != nil && p.tail.delta.join(&e.delta):
		w.bytes += e.delta.len()
		return
	}
	p.count++
	added := new(entry) // not the parameter itself: what joins needs no memory
	*added = e
	added.number = p.count
	if p.tail = nil; e.data == nil {
		p.tail = added
	}
	if e.last {
		p.ending = added.number
	}
	w.queue = append(w.queue, added)
	w.bytes += added.size()
}

// away reports whether there is no connection on which more can be sent.
func (w *writer) away() bool { return w.broken || w.conn == nil }

// hold waits until there may be room for another entry of p. It is called with mu,
// and returns without it if there is an error.
func (w *writer) hold(ctx context.Context, p *Publisher, began time.Time) error {
	var changed <-chan struct{}
	var r *repair
	if w.away() {
		r = w.repair()
		changed = r.done
	} else {
		if w.room == nil {
			w.room = make(chan struct{})
		}
		changed = w.room
	}
	w.mu.Unlock()
	select {
	case <-changed:
	case <-ctx.Done():
	case <-w.ctx.Done():
	}
	w.mu.Lock()
	switch {
	case ctx.Err() != nil: // nothing is lost: the next call continues
		defer w.mu.Unlock()
		return p.storing(p.count+1, context.Cause(ctx))
	case r != nil && r.failed() && time.Since(began) >= w.store.AckTimeout()/2: // else it began long before
		defer w.mu.Unlock()
		return p.end(p.storing(p.count+1, r.err))
	}
	return nil
}

// pump sends what is queued, as far as it may be on its way. The caller holds mu,
// which is free while it sends.
func (w *writer) pump() {
	if w.sending {
		return
	}
	w.sending = true
	for f := w.next(); f != nil; f = w.next() {
		w.mu.Unlock()
		if at, err := w.send(f); err != nil {
			w.answered(f, natsstore.Result{Err: err, At: at})
		}
		w.mu.Lock()
	}
	w.sending = false
	if w.broken {
		w.idle.Broadcast()
		if w.flight != nil || len(w.queue) > 0 {
			w.repair()
		}
	}
}

// next takes the next batch from the queue; nil means there is none, or not yet. Only one is
// on its way at a time, so that nothing is stored after an entry that the store refuses.
func (w *writer) next() *flight {
	if w.away() || w.flight != nil {
		return nil
	}
	limit := batchEntries
	if !w.batches {
		limit = 1
	}
	entries := w.spare[:0]
	taken, size := 0, 0
	guards := make(map[*Publisher]bool) // of a cluster, which allows each once: see [entry.guard]
	w.flights++
	for _, e := range w.queue {
		if e.again && w.cluster { // see [staleID]
			limit = 1
		}
		if len(entries) >= limit || len(entries) > 0 && size+e.size() > batchBytes {
			break
		}
		if e.orphaned(); e.p.err != nil { // it is not sent
			taken++
			size += e.size()
			continue
		}
		e.first = e.p.flight != w.flights
		if guard := e.guard(); w.cluster && guard != nil {
			if guards[guard] {
				break
			}
			guards[guard] = true
		}
		taken++
		size += e.size()
		if e.p.tail == e { // it does not change any more
			e.p.tail = nil
		}
		e.p.flight = w.flights
		entries = append(entries, e)
	}
	w.take(taken, size)
	w.spare = entries
	if len(entries) == 0 {
		return nil
	}
	f := &flight{entries: entries, since: time.Now()}
	f.batch = w.conn.Begin(len(entries), func(r natsstore.Result) { w.answered(f, r) })
	w.flight = f
	w.watch()
	return f
}

// take removes the first n entries from the queue.
func (w *writer) take(n, size int) {
	w.bytes -= size
	if rest := w.queue[n:]; len(rest) < n {
		copy(w.queue, rest)
		clear(w.queue[len(rest):])
		w.queue = w.queue[:len(rest)]
	} else {
		clear(w.queue[:n])
		w.queue = rest
	}
	// If each batch woke all callers that wait, a few would find room, and the others would
	// have been woken for nothing.
	if w.room != nil && (len(w.queue) == 0 || len(w.queue) <= queueEntries/2 && w.bytes <= queueBytes/2) {
		close(w.room)
		w.room = nil
	}
}

// send puts a batch on the connection; at is the message that was not sent.
func (w *writer) send(f *flight) (at int, err error) {
	var data []byte
	// On a connection to another process, a message that was given up may arrive after its
	// replacement.
	ids := !w.store.Election().Leads()
	for i, e := range f.entries {
		data, w.scratch = e.message(w.scratch)
		if err := f.batch.Send(e.subject, e.header(ids, f.batch.ID()), data); err != nil {
			return i + 1, err
		}
	}
	return 0, nil
}

// answered is called when the store has answered a batch.
func (w *writer) answered(f *flight, r natsstore.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken || w.flight != f { // a repair finds out what is stored
		return
	}
	if r.Err != nil {
		f.result = r
		w.fail()
		return
	}
	w.flight = nil
	w.acked = max(w.acked, r.Seq)
	w.refusing = time.Time{}
	for _, e := range f.entries {
		e.p.acknowledge(e)
	}
	clear(f.entries)
	w.pump()
}

// watch starts the timer that looks after what is on its way.
func (w *writer) watch() {
	if w.watching || w.closed {
		return
	}
	w.watching = true
	w.running.Go(func() {
		tick := time.NewTicker(checkInterval)
		defer tick.Stop()
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-tick.C:
				if !w.check() {
					return
				}
			}
		}
	})
}

// check ends what has been on its way for too long, and reports whether anything
// still is.
func (w *writer) check() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flight == nil {
		w.watching = false
		return false
	}
	if w.broken {
		return true
	}
	f := w.flight
	f.waited += checkInterval
	switch limit := w.store.AckTimeout(); {
	case w.store.Election().Stopped(): // that time does not count
		if f.waited = 0; time.Since(f.since) >= limit {
			w.giveUp(w.unanswered(time.Since(f.since)))
		}
	case w.store.Election().Leads(): // another connection leads to the same server
		if f.waited >= limit || f.waited >= natsstore.AttemptTimeout && w.store.Election().ErrorSince(f.since) {
			w.giveUp(w.unanswered(f.waited))
		}
	case f.waited >= w.store.ConnAckTimeout(): // the leader of the stream may be lost, and the batch with it
		w.conn.End()
	}
	return true
}
