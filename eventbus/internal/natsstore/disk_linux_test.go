package natsstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestFullDisk: while the disk is full every process knows why nothing is stored.
// When there is room again they go on by themselves, and nothing that was
// acknowledged is lost.
func TestFullDisk(t *testing.T) {
	disk, here := natstest.SmallDisk(t, "24m")
	if !here {
		return
	}
	const rounds, size = 3, 16 << 10
	dir := filepath.Join(disk, "nats")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stores []*natsstore.Store
	for range 3 { // the first leads
		store, err := natsstore.Open(ctx, &natsstore.Options{StoreDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		stores = append(stores, store)
	}
	stream, err := stores[0].EnsureStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Duplicates: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	acked := make([]int, len(stores))
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for round := range rounds {
		free := natstest.Fill(t, disk, 2<<20)
		enough := make(chan struct{})
		var writing sync.WaitGroup
		for i, store := range stores {
			writing.Go(func() {
				for stop := false; !stop; {
					select {
					case <-enough:
						stop = true // one more behind it
					default:
					}
					text := fmt.Appendf(nil, "%d %s", acked[i], strings.Repeat("x", size))
					if _, err := store.JetStream().Publish(ctx, fmt.Sprint("s.", i), text); err != nil {
						t.Errorf("store %d: message %d: %v", i, acked[i], err)
						return
					}
					acked[i]++
				}
			})
		}
		for i, store := range stores {
			for !strings.Contains(store.Health().Diagnosis, "no space left on device") {
				select {
				case <-look.C:
				case <-ctx.Done():
					t.Fatalf("round %d: store %d says %q, want that the disk is full", round, i, store.Health().Diagnosis)
				}
			}
		}
		close(enough)
		free()
		start := time.Now()
		writing.Wait()
		t.Logf("round %d: all go on %s after there was room", round, time.Since(start).Round(time.Millisecond))
	}
	for i, n := range acked {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(fmt.Sprint("s.", i)))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.State.Subjects[fmt.Sprint("s.", i)]; got != uint64(n) {
			t.Errorf("store %d: %d messages are stored, %d were acknowledged", i, got, n)
		}
		last, err := stream.GetLastMsgForSubject(ctx, fmt.Sprint("s.", i))
		if err != nil || !strings.HasPrefix(string(last.Data), fmt.Sprint(n-1, " ")) {
			t.Errorf("store %d: the last message is %.10s, %v, want number %d", i, last.Data, err, n-1)
		}
	}
}

// TestFullDiskPurge: nothing is deleted while the disk is full, which the server could not
// bear. Reading goes on, and deleting goes on once there is room.
func TestFullDiskPurge(t *testing.T) {
	disk, here := natstest.SmallDisk(t, "24m")
	if !here {
		return
	}
	store := openStore(t, filepath.Join(disk, "nats"))
	other := openStore(t, filepath.Join(disk, "nats"))
	cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}}
	if _, err := store.EnsureStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	const each = 100
	for i := range 2 * each {
		if _, err := store.JetStream().Publish(t.Context(), fmt.Sprint("s.", i%2), []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		free := natstest.Fill(t, disk, 128<<10) // less than a store is opened with
		for _, s := range []*natsstore.Store{store, other} {
			stream, err := s.EnsureStream(t.Context(), cfg) // a command that starts opens it
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("s.0")); err == nil || !strings.Contains(err.Error(), "no space left on device") {
				t.Errorf("purging: %v, want that the disk is full", err)
			}
			if m, err := stream.GetLastMsgForSubject(t.Context(), "s.1"); err != nil || m.Sequence != 2*each {
				t.Errorf("reading: %v", err)
			}
		}
		free()
	}
	stream, err := other.EnsureStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("s.0")); err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != each {
		t.Errorf("%d messages are left, want %d: %v", info.State.Msgs, each, err)
	}
}
