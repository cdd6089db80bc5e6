package eventbus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestRange: a range has what the stream has between its ends, in order, short or long, at any
// place.
func TestRange(t *testing.T) {
	for name, options := range map[string]*eventbus.Options{
		"embedded": {StoreDir: t.TempDir()},
		"external": {URL: natstest.Start(t, server.Options{}).ClientURL()},
	} {
		t.Run(name, func(t *testing.T) {
			bus := bustest.Open(t, options)
			if _, err := bus.Store().EnsureBucket(t.Context(), jetstream.KeyValueConfig{Bucket: "RANGES", History: 1}); err != nil {
				t.Fatal(err)
			}
			stream, err := bus.JetStream().Stream(t.Context(), "KV_RANGES")
			if err != nil {
				t.Fatal(err)
			}
			ranged := func(from, to uint64) (seqs []uint64) {
				t.Helper()
				for m, err := range bus.Range(t.Context(), stream, from, to) {
					if err != nil {
						t.Fatal(err)
					}
					if want := fmt.Sprint(m.Seq); string(m.Data) != want {
						t.Fatalf("message %s has %q", want, m.Data)
					}
					seqs = append(seqs, m.Seq)
				}
				return seqs
			}
			if got := ranged(1, 100); len(got) > 0 {
				t.Errorf("an empty stream has %v", got)
			}
			const last = 2500
			var want []uint64
			for seq := uint64(1); seq <= last; seq++ {
				key := seq
				if seq%7 == 0 { // replaces the one before
					key--
					want = want[:len(want)-1]
				}
				if _, err := bus.JetStream().PublishAsync(fmt.Sprint("$KV.RANGES.", key), fmt.Append(nil, seq)); err != nil {
					t.Fatal(err)
				}
				want = append(want, seq)
			}
			select {
			case <-bus.JetStream().PublishAsyncComplete():
			case <-t.Context().Done():
			}
			for _, ends := range [][2]uint64{
				{0, last}, {1, last}, {0, 3 * last}, {1, 1}, {5, 7}, {6, 6}, {last, last}, {last + 1, last + 9}, {700, 600},
				{600, 700}, {1, 1024}, {1, 1025}, {7, 1031}, {999, last - 1}, {last - 10, last + 10},
			} {
				in := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq < ends[0] || seq > ends[1] })
				if got := ranged(ends[0], ends[1]); !slices.Equal(got, in) {
					t.Errorf("from %d to %d there are %d messages, want %d", ends[0], ends[1], len(got), len(in))
				}
			}
		})
	}
}
