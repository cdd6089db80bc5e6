package natsstore

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// Watch is the library's, but continues wherever the store is opened next. It does
// not repeat an entry. Of an entry that changed several times in the meantime it
// shows the last change.
func (k retryingBucket) Watch(ctx context.Context, keys string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	if err := checkSubject(keys); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	w := &retryingWatch{bucket: k, keys: keys, opts: opts, updates: make(chan jetstream.KeyValueEntry), stop: stop, done: make(chan struct{})}
	first, end, err := w.begin(watching)
	if err != nil {
		stop()
		return nil, err
	}
	go w.run(watching, first, end)
	return w, nil
}

type retryingWatch struct {
	bucket  retryingBucket
	keys    string
	opts    []jetstream.WatchOpt
	updates chan jetstream.KeyValueEntry
	stop    context.CancelFunc
	done    chan struct{}

	last     uint64 // the highest revision that was sent
	complete bool   // everything stored was sent, and so was the nil entry that says so
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
func (w *retryingWatch) begin(ctx context.Context) (jetstream.KeyWatcher, context.CancelFunc, error) {
	r := w.bucket.js.retrier
	for {
		connected, end, err := r.state.await(ctx, r.closed)
		if err != nil {
			return nil, nil, err
		}
		watch, err := w.bucket.KeyValue.Watch(connected, w.keys, w.opts...)
		if err == nil {
			return watch, end, nil
		}
		away := connected.Err() != nil || r.away(err)
		end()
		if !away || ctx.Err() != nil {
			return nil, nil, err
		}
		pause(ctx, r.closed, retryPause) // a cluster without a leader refuses at once
	}
}

func (w *retryingWatch) run(ctx context.Context, watch jetstream.KeyWatcher, end context.CancelFunc) {
	defer close(w.done)
	defer close(w.updates)
	defer w.stop()
	for {
		w.forward(ctx, watch.Updates())
		end()
		_ = watch.Stop()            // an error: it has ended by itself
		for range watch.Updates() { // unblocks a watch that is sending
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if watch, end, err = w.begin(ctx); err != nil {
			return
		}
	}
}

// forward sends on what is new of updates.
func (w *retryingWatch) forward(ctx context.Context, updates <-chan jetstream.KeyValueEntry) {
	for e := range updates {
		switch {
		case e == nil && w.complete, e != nil && e.Revision() <= w.last:
			continue
		case e == nil:
			w.complete = true
		default:
			w.last = e.Revision()
		}
		select {
		case w.updates <- e:
		case <-ctx.Done():
			return
		}
	}
}
