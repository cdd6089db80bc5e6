package eventbus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Watch is the library's, and goes on where the store is open next. An entry
// that has been told is not told again; of one that changed several times
// meanwhile the last change is.
func (k keptBucket) Watch(ctx context.Context, keys string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	if err := fits(keys); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	w := &keptWatch{bucket: k, keys: keys, opts: opts, updates: make(chan jetstream.KeyValueEntry), stop: stop, done: make(chan struct{})}
	first, end, err := w.begin(watching)
	if err != nil {
		stop()
		return nil, err
	}
	go w.run(watching, first, end)
	return w, nil
}

type keptWatch struct {
	bucket  keptBucket
	keys    string
	opts    []jetstream.WatchOpt
	updates chan jetstream.KeyValueEntry
	stop    context.CancelFunc
	done    chan struct{}

	last uint64 // the highest revision that has been told
	told bool   // that all that was stored has been
}

// Updates implements [jetstream.KeyWatcher]. The channel is closed at the end.
func (w *keptWatch) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

// Stop implements [jetstream.KeyWatcher].
func (w *keptWatch) Stop() error {
	w.stop()
	<-w.done
	return nil
}

// begin starts a watch that ends with ctx, or when the connection is lost.
func (w *keptWatch) begin(ctx context.Context) (jetstream.KeyWatcher, context.CancelFunc, error) {
	bus := w.bucket.js.bus
	for {
		there, end, err := bus.link.wait(ctx, bus.ctx)
		if err != nil {
			return nil, nil, err
		}
		watch, err := w.bucket.KeyValue.Watch(there, w.keys, w.opts...)
		if err == nil {
			return watch, end, nil
		}
		lost := there.Err() != nil || bus.away(err)
		end()
		if !lost || ctx.Err() != nil {
			return nil, nil, err
		}
		select { // a cluster without a leader says so at once
		case <-ctx.Done():
		case <-bus.ctx.Done():
		case <-time.After(againWait):
		}
	}
}

func (w *keptWatch) run(ctx context.Context, watch jetstream.KeyWatcher, end context.CancelFunc) {
	defer close(w.done)
	defer close(w.updates)
	defer w.stop()
	for {
		w.hand(ctx, watch.Updates())
		end()
		_ = watch.Stop()            // an error: it has ended by itself
		for range watch.Updates() { // what it is about to say; then it ends
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

// hand hands on what is new of updates.
func (w *keptWatch) hand(ctx context.Context, updates <-chan jetstream.KeyValueEntry) {
	for e := range updates {
		switch {
		case e == nil && w.told, e != nil && e.Revision() <= w.last:
			continue
		case e == nil:
			w.told = true
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
