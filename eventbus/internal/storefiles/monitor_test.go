package storefiles

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// monitored is a store of two streams of several blocks, while a Monitor looks at it: S has all
// messages except for a few deleted ones, and KV_B the last one of each key.
type monitored struct {
	*testing.T
	*testServer
	*Monitor
	stream jetstream.Stream
	blocks map[string][]string // paths, in order
}

func monitor(t *testing.T) *monitored {
	k := &monitored{T: t, testServer: startServer(t, time.Hour), blocks: make(map[string][]string)}
	var err error
	k.stream, err = small(jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}, k.js)
	if err == nil {
		_, err = small(jetstream.StreamConfig{Name: "KV_B", Subjects: []string{"$KV.B.>"}, MaxMsgsPerSubject: 1}, k.js)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.Monitor = k.monitor(t)
	for i := range 40 {
		k.put("s", 4000)
		k.put(fmt.Sprint("$KV.B.", i%15), 4000)
		k.put("$KV.B.often", 10)
	}
	for _, seq := range []uint64{3, 10, 25} {
		if err := k.stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	k.looks()
	k.list()
	return k
}

func (k *monitored) put(subject string, size int) {
	k.T.Helper()
	if _, err := k.js.Publish(k.Context(), subject, make([]byte, size)); err != nil {
		k.T.Fatal(err)
	}
}

// list finds the blocks.
func (k *monitored) list() {
	for _, name := range []string{"S", "KV_B"} {
		folder := filepath.Join(k.dir, filepath.FromSlash(streamsDir), name, blocksDir)
		blocks, err := blocksIn(os.DirFS(folder), ".")
		if err != nil || len(blocks) < 3 {
			k.T.Fatalf("%s has the blocks %v, %v: too few", name, blocks, err)
		}
		k.blocks[name] = nil
		for _, file := range slices.SortedFunc(maps.Keys(blocks), byNumber) {
			k.blocks[name] = append(k.blocks[name], filepath.Join(folder, file))
		}
	}
}

func (k *monitored) looks() {
	k.T.Helper()
	if err := k.look(); err != nil {
		k.T.Error(err)
	}
}

// old returns the block of S with the messages 15 to 21, and last the newest one.
func (k *monitored) old() string  { return k.blocks["S"][2] }
func (k *monitored) last() string { return k.blocks["S"][len(k.blocks["S"])-1] }

// damageCases are what is done to the files of an open store.
var damageCases = []struct {
	name string
	do   func(k *monitored) error
	says string   // at once; empty means that it is no damage
	lost []string // ranges
}{
	{"nothing", func(*monitored) error { return nil }, "", nil},
	{"an old block is touched", func(k *monitored) error { return os.Chtimes(k.old(), time.Time{}, time.Now()) }, "", nil},
	{"an old block is put back", func(k *monitored) error {
		return rewrite(k.old(), func(_ *block, data []byte) []byte { return data })
	}, "", nil},
	{"its last messages are left out", func(k *monitored) error {
		return rewrite(k.old(), func(b *block, data []byte) []byte { return data[:b.start] })
	}, "cut off", []string{"21-21"}},
	{"its first message is left out", func(k *monitored) error {
		return rewrite(k.old(), func(_ *block, data []byte) []byte { return data[4031:] })
	}, "cut off", []string{"15-15"}},
	{"messages are left out, and others added", func(k *monitored) error {
		return rewrite(k.old(), func(_ *block, data []byte) []byte {
			return append(data[:4031:4031], record(15, time.Now(), "s", strings.Repeat("x", 30_000), checksums("S", 3))...)
		})
	}, "replaced", []string{"16-21"}},
	{"the server misses a block first", func(k *monitored) error {
		err := os.Remove(k.old())
		_, getErr := k.stream.GetMsg(k.Context(), 17)
		if !errors.Is(getErr, jetstream.ErrMsgNotFound) {
			k.T.Logf("reading a message of it: %v", getErr)
		}
		return err
	}, "removed", []string{"15-21"}},
	{"the last block is emptied, and written on", func(k *monitored) error {
		err := os.Truncate(k.last(), 0)
		k.put("s", 100)
		return err
	}, "garbled", []string{"36-41"}},
	{"the last block is removed, and written on", func(k *monitored) error {
		err := os.Remove(k.last())
		k.put("s", 100)
		return err
	}, "removed", []string{"36-41"}},
	{"the last block is garbled, and another one begun", func(k *monitored) error {
		err := garble(k.last(), 100)
		for range 8 {
			k.put("s", 4000)
		}
		return err
	}, "garbled", []string{"36-42"}},
	{"the last block is garbled while it is written", func(k *monitored) error {
		k.put("s", 100)
		k.looks()
		err := garble(k.last(), 100)
		k.put("s", 100)
		k.looks()
		return err
	}, "", []string{"36-42"}}, // it is read completely when the store is closed
	{"a block of a bucket is removed", func(k *monitored) error { return os.Remove(k.blocks["KV_B"][len(k.blocks["KV_B"])-2]) }, "removed", []string{"KV_B"}},
	{"all of the last blocks are removed", func(k *monitored) error {
		return errors.Join(os.Remove(k.last()), os.Remove(k.blocks["KV_B"][len(k.blocks["KV_B"])-1]))
	}, "removed", []string{"KV_B", "36-40"}},
}

// TestDamageReported: what is damage or not, and what is found to be missing when the store is
// opened anew.
func TestDamageReported(t *testing.T) {
	for _, tt := range damageCases {
		t.Run(tt.name, func(t *testing.T) {
			k := monitor(t)
			if err := tt.do(k); err != nil {
				t.Fatal(err)
			}
			k.looks()
			reported := k.testServer.damage()
			if fmt.Sprint(reported) == "<nil>" != (tt.says == "") || !strings.Contains(fmt.Sprint(reported), tt.says) {
				t.Errorf("it says %v, want %q", reported, tt.says)
			}
			losses := k.close(t, k.Monitor)
			if len(losses) != len(tt.lost) {
				t.Fatalf("%v, want %v", losses, tt.lost)
			}
			for i, l := range losses {
				if got := fmt.Sprintf("%d-%d", l.First, l.Last); got != tt.lost[i] && l.Stream != tt.lost[i] {
					t.Errorf("%v, want %s", l, tt.lost[i])
				}
			}
		})
	}
}

// rewrite puts another file under the name of a block, as a server does.
func rewrite(path string, change func(b *block, data []byte) []byte) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	stream := filepath.Base(filepath.Dir(filepath.Dir(path)))
	b := parseBlock(data, checksums(stream, blockNumber(filepath.Base(path))))
	return errors.Join(os.WriteFile(path+".new", change(b, data), 0o600), os.Rename(path+".new", path))
}

// TestIdleStore: a store in which nothing happens asks its server nothing, and has nothing
// written or read.
func TestIdleStore(t *testing.T) {
	k := monitor(t)
	k.looks()
	asked := k.questions.Load()
	for range 100 {
		k.looks()
	}
	k.put("s", 100) // what is written is no question either
	k.looks()
	if n := k.questions.Load() - asked; n > 0 {
		t.Errorf("%d questions, want none", n)
	}
}

// BenchmarkLook: what a look costs at an idle store of so many blocks.
func BenchmarkLook(b *testing.B) {
	for _, blocks := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(blocks), func(b *testing.B) {
			dir := b.TempDir()
			folder := filepath.Join(dir, filepath.FromSlash(streamsDir), "S", blocksDir)
			err := os.MkdirAll(folder, 0o700)
			for i := range blocks {
				err = errors.Join(err, os.WriteFile(filepath.Join(folder, fmt.Sprint(i+1, blockSuffix)), nil, 0o600))
			}
			long := time.Now().Add(-time.Hour)
			err = errors.Join(err, os.Chtimes(folder, long, long))
			k, openErr := newMonitor(dir, asked(func() map[string]Range { return map[string]Range{"S": {1, 1}} }), nil, nil)
			if err := errors.Join(err, openErr); err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			err = k.look()
			first := time.Since(began)
			for b.Loop() {
				err = errors.Join(err, k.look())
			}
			b.ReportMetric(float64(first.Microseconds()), "µs/first")
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
