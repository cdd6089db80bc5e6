package natsstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Watch is the library's, but continues when the store moves. It does not repeat an entry. Of
// an entry that changed several times in the meantime it shows the last change.
func (k retryingBucket) Watch(ctx context.Context, keys string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	if err := checkSubject(keys); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	w := &retryingWatch{bucket: k, keys: keys, opts: opts, updates: make(chan jetstream.KeyValueEntry), stop: stop, done: make(chan struct{})}
	first, err := w.begin(watching)
	if err != nil {
		stop()
		return nil, err
	}
	go w.run(watching, first)
	return w, nil
}

// drainTime bounds the wait for the end of a watch that was stopped. The library
// does not tell the end of one whose subscription has ended while it was made, and
// which sends nothing any more.
const drainTime = time.Second

// watchPart is the library's watch on one connection.
type watchPart struct {
	watch     jetstream.KeyWatcher
	connected context.Context // until the connection is lost, or end
	end       context.CancelFunc
}

type retryingWatch struct {
	bucket  retryingBucket
	keys    string
	opts    []jetstream.WatchOpt
	updates chan jetstream.KeyValueEntry
	stop    context.CancelFunc
	done    chan struct{}

	last     uint64 // the highest revision that was sent
	complete bool   // everything stored was sent, and so was the nil entry that marks its end
}

// Updates implements [jetstream.KeyWatcher]. The channel is closed at the end.
func (w *retryingWatch) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// Stop implements [jetstream.KeyWatcher].
func (w *retryingWatch) Stop() error {
	w.stop()
	<-w.done
	return nil
}

// begin starts a watch that ends with ctx, or when the connection is lost.
func (w *retryingWatch) begin(ctx context.Context) (*watchPart, error) {
	r := w.bucket.js.retrier
	for {
		connected, end, err := r.state.await(ctx, r.closed)
		if err != nil {
			return nil, err
		}
		watch, err := w.bucket.KeyValue.Watch(connected, w.keys, w.opts...)
		if err == nil {
			return &watchPart{watch, connected, end}, nil
		}
		away := connected.Err() != nil || r.away(err)
		end()
		if !away || ctx.Err() != nil {
			return nil, err
		}
		pause(ctx, r.closed, retryPause) // a cluster without a leader refuses at once
	}
}

func (w *retryingWatch) run(ctx context.Context, part *watchPart) {
	defer close(w.done)
	defer close(w.updates)
	defer w.stop()
	for {
		w.forward(part)
		part.stop()
		if ctx.Err() != nil {
			return
		}
		var err error
		if part, err = w.begin(ctx); err != nil {
			return
		}
	}
}

// forward sends on what is new of a part, until that ends.
func (w *retryingWatch) forward(part *watchPart) {
	for {
		var e jetstream.KeyValueEntry
		select {
		case next, ok := <-part.watch.Updates():
			if !ok {
				return
			}
			e = next
		case <-part.connected.Done():
			return
		}
		if e == nil && w.complete || e != nil && e.Revision() <= w.last {
			continue
		}
		select {
		case w.updates <- e:
		case <-part.connected.Done():
			return
		}
		if e == nil {
			w.complete = true
		} else {
			w.last = e.Revision()
		}
	}
}

// stop ends the part, and unblocks the library where it is sending.
func (p *watchPart) stop() {
	p.end()
	_ = p.watch.Stop() // an error: it has ended by itself
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-p.watch.Updates():
			if !ok {
				return
			}
		case <-timer.C:
			return
		}
	}
}
