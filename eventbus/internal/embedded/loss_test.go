package embedded_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

const lossMessages, lossSize = 900, 32 << 10 // several blocks

// lossCases are what is done to the blocks of a closed store, and what is logged; nil means
// nothing.
var lossCases = []struct {
	name   string
	damage func(blocks []string) error
	says   []string
}{
	{"nothing", func([]string) error { return nil }, nil},
	{"an old block is cut off", func(b []string) error { return os.Truncate(b[1], 100_000) }, []string{"2.blk was cut off"}},
	{"the last block is cut off", func(b []string) error { return os.Truncate(b[len(b)-1], 100_000) }, []string{"was cut off", fmt.Sprint(" to ", lossMessages, " of S")}},
	{"the first block is empty", func(b []string) error { return os.Truncate(b[0], 0) }, []string{"messages 1 to ", "1.blk was cut off"}},
	{"a block is missing", func(b []string) error { return os.Remove(b[1]) }, []string{"2.blk is missing"}},
	{"all are missing", func(b []string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(b[0]))) }, []string{fmt.Sprint("messages 1 to ", lossMessages, " of S")}},
}

// TestLosses: opening a store with blocks that were cut off or removed reports what is
// missing, each time, and in every process. The rest can be read.
func TestLosses(t *testing.T) {
	const messages, size = lossMessages, lossSize
	for _, tt := range lossCases {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			open := func() (*member, string) {
				t.Helper()
				var log bytes.Buffer
				store, err := join(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
				if err != nil {
					t.Fatal(err)
				}
				return store, log.String()
			}
			cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}
			store, _ := open()
			if _, err := store.js.CreateOrUpdateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			for range messages {
				if _, err := store.js.PublishAsync("s", make([]byte, size)); err != nil {
					t.Fatal(err)
				}
			}
			<-store.js.PublishAsyncComplete()
			if err := store.close(); err != nil {
				t.Fatal(err)
			}
			blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "S", "msgs", "*.blk"))
			if err != nil || len(blocks) < 3 {
				t.Fatalf("%v, %v: too few blocks", blocks, err)
			}
			if err := tt.damage(blocks); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				store, log := open()
				follower, logBeside := open()
				for _, log := range []string{log, logBeside} {
					if tt.says == nil && strings.Contains(log, "lost") {
						t.Errorf("without damage it says %s", log)
					}
					for _, part := range tt.says {
						if !strings.Contains(log, part) {
							t.Errorf("it says %q, want %q in it", log, part)
						}
					}
				}
				stream, err := store.js.CreateOrUpdateStream(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				info, err := stream.Info(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var lost, first, last uint64
				if _, text, found := strings.Cut(log, "messages "); found {
					if _, err := fmt.Sscanf(text, "%d to %d", &first, &last); err != nil {
						t.Errorf("%s: %v", log, err)
					}
					lost = last - first + 1
				}
				if info.State.Msgs+lost != messages {
					t.Errorf("%d messages are there, %d are said to be lost, want %d together", info.State.Msgs, lost, messages)
				}
				for _, s := range []*member{follower, store} {
					if err := s.close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
