package natsstore

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go/jetstream"
)

// endless is a bucket whose watches show one entry each, and never close their
// channel: as the library's do where the subscription ends while it is made.
type endless struct {
	jetstream.KeyValue
	revision uint64
}

func (b *endless) Watch(context.Context, string, ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	b.revision++
	updates := make(chan jetstream.KeyValueEntry, 2)
	updates <- entryOf{revision: b.revision}
	updates <- nil
	return endlessWatch(updates), nil
}

type endlessWatch chan jetstream.KeyValueEntry

func (w endlessWatch) Updates() <-chan jetstream.KeyValueEntry { return w }
func (w endlessWatch) Stop() error                             { return nil }

type entryOf struct {
	jetstream.KeyValueEntry
	revision uint64
}

func (e entryOf) Revision() uint64 { return e.revision }

// TestWatchWithoutEnd: a watch of which the library tells no end goes on where the
// connection is made anew, and can be stopped.
func TestWatchWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, end := context.WithCancelCause(t.Context())
		defer end(ErrClosed)
		r := &retrier{state: newConnState(), closed: closed}
		r.state.connected()
		w, err := retryingBucket{&endless{}, retryingJetStream{retrier: r}}.Watch(t.Context(), "*")
		if err != nil {
			t.Fatal(err)
		}
		want := func(revision uint64) {
			t.Helper()
			if e := <-w.Updates(); e == nil || e.Revision() != revision {
				t.Errorf("got %v, want revision %d", e, revision)
			}
		}
		want(1)
		if e := <-w.Updates(); e != nil {
			t.Errorf("got %v, want the end of what is stored", e)
		}
		r.state.disconnected()
		r.state.connected()
		want(2)
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
		if e, ok := <-w.Updates(); ok {
			t.Errorf("got %v behind the end", e)
		}
	})
}
