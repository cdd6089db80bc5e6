package embedded_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// lines is a log that hands out its lines.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// damagesWhileOpen are what is done to the blocks of a stream, and what is logged.
var damagesWhileOpen = []struct {
	name   string
	damage func(blocks []string) error
	cause  string
}{
	{"an old block is removed", func(b []string) error { return os.Remove(b[3]) }, "was removed"},
	{"the first block is removed", func(b []string) error { return os.Remove(b[0]) }, "was removed"},
	{"the last block is removed", func(b []string) error { return os.Remove(b[len(b)-1]) }, "was removed"},
	{"an old block is emptied", func(b []string) error { return os.Truncate(b[3], 0) }, "was cut off"},
	{"an old block is cut off between two messages", func(b []string) error { return os.Truncate(b[3], records(b[3], 3)) }, "was cut off"},
	{"the last block is cut off between two messages", func(b []string) error { return os.Truncate(b[len(b)-1], records(b[len(b)-1], 1)) }, "was cut off"},
	{"an old block is garbled", func(b []string) error { return garble(b[3], 10_000) }, "was garbled"},
	{"the last block is garbled", func(b []string) error { return garble(b[len(b)-1], 1000) }, "was garbled"},
	{"an old block is replaced by a shorter copy", func(b []string) error {
		return errors.Join(shorter(b[3], b[3]+".copy"), os.Rename(b[3]+".copy", b[3]))
	}, "was cut off"},
	{"all blocks are removed with their folder", func(b []string) error { return os.RemoveAll(filepath.Dir(b[0])) }, "was removed"},
	{"the stream is removed", func(b []string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(b[0]))) }, "was removed"},
}

// TestDamagedWhileOpen: the files of a store are damaged while two processes have it open.
// It is noticed by itself, and the store is opened anew: what is lost is told, and all
// else is there for both. What was written meanwhile is there or told, too.
func TestDamagedWhileOpen(t *testing.T) {
	const messages = 100
	for _, tt := range damagesWhileOpen {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := make(lines, 1000)
			leader, err := join(t, dir, slog.New(slog.NewTextHandler(log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			follower, err := join(t, dir, slog.New(slog.NewTextHandler(log, nil))) // either may open it anew
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, MaxBytes: 100_000} // a block is 32 KB then
			if _, err := leader.js.CreateStream(ctx, cfg); err != nil {
				t.Fatal(err)
			}
			cfg.MaxBytes = -1
			stream, err := leader.js.UpdateStream(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			for i := range messages {
				if _, err := follower.js.Publish(ctx, fmt.Sprint("s.", i%9), make([]byte, 4000)); err != nil {
					t.Fatal(err)
				}
			}
			// Some were deleted, as in every store.
			for _, seq := range []uint64{5, 17, 18, 40} {
				if err := stream.DeleteMsg(ctx, seq); err != nil {
					t.Fatal(err)
				}
			}
			blocks := written(t, dir, messages)
			before := readable(ctx, t, stream)
			if err := tt.damage(blocks); err != nil {
				t.Fatal(err)
			}
			for found := ""; !strings.Contains(found, "the event store is damaged"); {
				select {
				case found = <-log:
					if strings.Contains(found, "files of the event store are damaged") && !strings.Contains(found, tt.cause+" while the store was open") {
						t.Errorf("it says %s, want %s", found, tt.cause)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("the damage is not noticed")
				}
			}
			losses, err := storefiles.Losses(dir)
			if err != nil || len(losses) == 0 {
				t.Fatalf("%v, %v are told", losses, err)
			}
			for _, m := range []*member{follower, leader} {
				stream, err := again(t, func() (jetstream.Stream, error) { return m.js.CreateOrUpdateStream(ctx, cfg) })
				if err != nil {
					t.Fatal(err)
				}
				ack, err := m.js.Publish(ctx, "s.new", nil)
				if err != nil || ack.Sequence <= messages {
					t.Errorf("a new message: %v, %v", ack, err)
				}
				now := readable(ctx, t, stream)
				for _, seq := range before {
					lost := slices.ContainsFunc(losses, func(l storefiles.Loss) bool { return l.First <= seq && seq <= l.Last })
					if slices.Contains(now, seq) == lost {
						t.Errorf("message %d is told to be lost: %v (%v)", seq, lost, losses)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(dir, storefiles.LossesFile)); err != nil {
				t.Error(err)
			}
		})
	}
}

// written returns the blocks of the stream S when they are written down, with all of its
// messages.
func written(t *testing.T, dir string, messages int) []string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		blocks, err := filepath.Glob(filepath.Join(dir, "jetstream/$G/streams/S/msgs/*.blk"))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(blocks, func(a, b string) int {
			return cmp.Or(len(a)-len(b), strings.Compare(a, b))
		})
		known, err := os.ReadFile(filepath.Join(dir, "blocks.json"))
		if err == nil && strings.Contains(string(known), fmt.Sprintf(`"last":%d`, messages)) && strings.Contains(string(known), filepath.Base(blocks[len(blocks)-1])) {
			return blocks
		}
		if t.Context().Err() != nil {
			break
		}
	}
	t.Fatal("the blocks are not written down")
	return nil
}

// again does something until the store is there.
func again[T any](t *testing.T, do func() (T, error)) (T, error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if v, err := do(); err == nil {
			return v, nil
		}
		<-tick.C
	}
	return do()
}

// readable returns the messages that can be read.
func readable(ctx context.Context, t *testing.T, stream jetstream.Stream) (seqs []uint64) {
	t.Helper()
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		switch _, err := stream.GetMsg(ctx, seq); {
		case err == nil:
			seqs = append(seqs, seq)
		case !errors.Is(err, jetstream.ErrMsgNotFound):
			t.Errorf("message %d: %v", seq, err)
		}
	}
	return seqs
}

// records returns where a number of records of a block end.
func records(path string, n int) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	at := 0
	for range n {
		at += int(binary.LittleEndian.Uint32(data[at:]) &^ (1 << 31))
	}
	return int64(at)
}

func garble(path string, at int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("garbled"), int64(at))
	return errors.Join(err, f.Close())
}

// shorter writes the first messages of a block to a file.
func shorter(path, to string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data[:records(path, 4)], 0o600)
}
