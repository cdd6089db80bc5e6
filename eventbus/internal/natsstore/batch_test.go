package natsstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// batching is a stream that accepts batches, with connections to publish on.
type batching struct {
	t      *testing.T
	client *nats.Conn // of nobody's store
	stream jetstream.Stream
	conns  []*natsstore.PublishConn
}

func newBatching(t *testing.T, conns int) *batching {
	t.Helper()
	url := natstest.Start(t, server.Options{}).ClientURL()
	b := &batching{t: t, client: natstest.JetStream(t, url).Conn()}
	for range conns {
		store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		if b.stream, err = store.EnsureStream(t.Context(), jetstream.StreamConfig{
			Name: "S", Subjects: []string{"s.>"}, MaxMsgSize: 128 << 10, AllowBatchPublish: true, AllowDirect: true,
		}); err != nil {
			t.Fatal(err)
		}
		conn, err := store.PublishConn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.conns = append(b.conns, conn)
	}
	return b
}

// begin begins a batch, whose result is sent to the channel.
func (b *batching) begin(conn, size int) (*natsstore.Batch, <-chan natsstore.Result) {
	result := make(chan natsstore.Result, 1)
	return b.conns[conn].Begin(size, func(r natsstore.Result) { result <- r }), result
}

func (b *batching) send(batch *natsstore.Batch, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if err := batch.Send("s.x", nil, []byte(text)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// single publishes one message, after everything that was sent on the connection.
func (b *batching) single(conn int, text string) {
	b.t.Helper()
	batch, result := b.begin(conn, 1)
	b.send(batch, text)
	if r := <-result; r.Err != nil {
		b.t.Fatal(r.Err)
	}
}

func (b *batching) stored() (texts []string) {
	b.t.Helper()
	info, err := b.stream.Info(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		msg, err := b.stream.GetMsg(b.t.Context(), seq)
		if err != nil {
			b.t.Fatal(err)
		}
		texts = append(texts, string(msg.Data))
	}
	return texts
}

func TestBatch(t *testing.T) {
	b := newBatching(t, 1)
	var want []string
	for size := 1; size <= 300; size += 23 {
		batch, result := b.begin(0, size)
		for i := range size {
			want = append(want, fmt.Sprint(size, "-", i))
			b.send(batch, want[len(want)-1])
		}
		if r := <-result; r.Err != nil || r.Seq != uint64(len(want)) {
			t.Fatalf("a batch of %d: %+v, want sequence number %d", size, r, len(want))
		}
	}
	if got := b.stored(); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// TestBatchRefused: nothing is stored after a message that the store refuses, and the result
// names that message.
func TestBatchRefused(t *testing.T) {
	const size = 5
	for at := 1; at <= size; at++ {
		for what, refused := range map[string]nats.Msg{
			"too large":   {Subject: "s.x", Data: make([]byte, 200<<10)},
			"conditional": {Subject: "s.x", Header: nats.Header{jetstream.ExpectedLastSubjSeqHeader: {"7"}}},
		} {
			b := newBatching(t, 1)
			batch, result := b.begin(0, size)
			want := make([]string, 0, size)
			for i := 1; i <= size; i++ {
				if i == at {
					if err := batch.Send(refused.Subject, refused.Header, refused.Data); err != nil {
						t.Fatal(err)
					}
					continue
				}
				b.send(batch, fmt.Sprint(i))
				if i < at {
					want = append(want, fmt.Sprint(i))
				}
			}
			r := <-result
			if refused := (*jetstream.APIError)(nil); r.At != at || !errors.As(r.Err, &refused) || natsstore.Unordered(r.Err) {
				t.Errorf("message %d is %s: %+v", at, what, r)
			}
			if err := b.conns[0].EndBatch(t.Context(), batch.ID(), "s.x"); err != nil {
				t.Errorf("message %d is %s: the fence: %v", at, what, err)
			}
			b.single(0, "next")
			if got := b.stored(); !slices.Equal(got, append(want, "next")) {
				t.Errorf("message %d is %s: stored %v, want %v", at, what, got, want)
			}
		}
	}
}

// TestBatchOfDuplicates: an answer that counts a batch and names no stored message does not
// mean that it is stored.
func TestBatchOfDuplicates(t *testing.T) {
	b := newBatching(t, 1)
	for seq, stored := range []bool{0: false, 1: true} {
		subject := fmt.Sprint("nobody.", seq)
		sub, err := b.client.Subscribe(subject, func(m *nats.Msg) {
			if strings.HasSuffix(m.Reply, ".2.2.$FI") {
				_ = m.Respond(fmt.Appendf(nil, `{"stream":"S","seq":%d,"batch":"b","count":2}`, seq)) // the result says it
			}
		})
		if err == nil {
			err = b.client.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		batch, result := b.begin(0, 2)
		for range 2 {
			if err := batch.Send(subject, nil, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if r := <-result; stored != (r.Err == nil) || !stored && !natsstore.Unordered(r.Err) {
			t.Errorf("sequence number %d: %+v", seq, r)
		}
		_ = sub.Unsubscribe()
	}
}

// TestFence: what arrives of a batch behind its fence is not stored.
func TestFence(t *testing.T) {
	b := newBatching(t, 2)
	batch, _ := b.begin(0, 5)
	b.send(batch, "1", "2")
	b.single(0, "between") // the two have arrived
	if err := b.conns[1].EndBatch(t.Context(), batch.ID(), "s.x"); err != nil {
		t.Fatal(err)
	}
	b.send(batch, "3", "4", "5")
	b.single(0, "last")
	if got, want := b.stored(), []string{"1", "2", "between", "last"}; !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// TestFenceBehindRefused: what the store says of messages that it has refused is no answer
// to the fence. It says it of each, if several are too large.
func TestFenceBehindRefused(t *testing.T) {
	b := newBatching(t, 1)
	large := string(make([]byte, 200<<10))
	for range 20 {
		batch, result := b.begin(0, 5)
		b.send(batch, "1", large)
		if r := <-result; r.At != 2 || natsstore.Unordered(r.Err) {
			t.Fatalf("%+v, want that message 2 is too large", r)
		}
		b.send(batch, "3", large)
		if err := b.conns[0].EndBatch(t.Context(), batch.ID(), "s.x"); err != nil {
			t.Fatal(err)
		}
		b.send(batch, "5")
	}
	b.single(0, "last")
	if got, want := b.stored(), append(slices.Repeat([]string{"1"}, 20), "last"); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// TestBatchDisabled: a stream that no longer accepts batches refuses them by a known error.
func TestBatchDisabled(t *testing.T) {
	b := newBatching(t, 1)
	plain := b.stream.CachedInfo().Config
	plain.AllowBatchPublish = false
	store, err := natsstore.Open(t.Context(), &natsstore.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.EnsureStream(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	conn, err := store.PublishConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan natsstore.Result, 1)
	batch := conn.Begin(2, func(r natsstore.Result) { result <- r })
	b.send(batch, "1", "2")
	if r := <-result; !natsstore.NoBatches(r.Err) || !natsstore.Unordered(r.Err) {
		t.Errorf("%+v", r)
	}
	if err := conn.EndBatch(t.Context(), batch.ID(), "s.x"); err != nil {
		t.Error(err)
	}
}
