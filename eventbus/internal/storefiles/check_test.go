package storefiles

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/atomicfile"
)

// checkCase is what is done to a store of two blocks of ten messages, and what is reported.
type checkCase struct {
	name   string
	closed bool   // the store was closed in order
	boot   string // the recorded start of the machine; empty means the present one
	damage func(one, two string) error
	lost   []string // ranges, with a part of the cause
	logs   string
	all    bool // files that have not changed are read
}

var checkCases = []checkCase{
	{"nothing", true, "", nothing, nil, "", false},
	{"nothing, killed", false, "", nothing, nil, "", false},
	{"the end is cut off", true, "", func(_, two string) error { return os.Truncate(two, 100) }, []string{"13-20 2.blk was cut off"}, "", false},
	{"the end is cut off, killed", false, "", func(_, two string) error { return os.Truncate(two, 100) }, []string{"13-20 2.blk was cut off"}, "", false},
	{"the end is missing after a power cut", false, "another", func(_, two string) error { return os.Truncate(two, 100) }, []string{"13-20 a power cut"}, "", false},
	{"a block is missing", true, "", func(one, _ string) error { return os.Remove(one) }, []string{"1-10 1.blk is missing"}, "", false},
	{"a block is missing, killed", false, "", func(one, _ string) error { return os.Remove(one) }, []string{"1-10 unless it was deleted"}, "", false},
	{"the last block is missing, killed", false, "", func(_, two string) error { return os.Remove(two) }, []string{"11-20 unless it was deleted"}, "", false},
	{"the server removed the last block", false, "", func(_, two string) error { return errors.Join(os.Remove(two), continued(two, 20)) }, nil, "", false},
	{"it removed the last block, and the first is missing", false, "", func(one, two string) error {
		return errors.Join(os.Remove(one), os.Remove(two), continued(two, 20))
	}, []string{"1-20 1.blk is missing"}, "", false},
	{"the last block is missing, and another one is of elsewhere", false, "", func(_, two string) error { return errors.Join(os.Remove(two), continued(two, 19)) }, []string{"11-20 unless"}, "", false},
	{"the last block is missing of a store that was closed", true, "", func(_, two string) error { return errors.Join(os.Remove(two), continued(two, 20)) }, []string{"11-20 2.blk is missing"}, "", false},
	{"a block is emptied, killed", false, "", func(one, _ string) error { return os.Truncate(one, 0) }, []string{"1-10 1.blk was cut off"}, "", false},
	{"a message is garbled", true, "", func(one, _ string) error { return garble(one, 100) }, []string{"3-10 1.blk was garbled"}, "", false},
	{"the first message is garbled", true, "", func(one, _ string) error { return garble(one, 3) }, []string{"1-10 1.blk was garbled"}, "", false},
	{"a bit has changed by itself", true, "", func(one, _ string) error { return rot(one, 100) }, []string{"3-10 1.blk was garbled"}, "", true},
	{"all files are read", false, "", nothing, nil, "", true},
	{"both ends", true, "", func(one, two string) error { return errors.Join(garble(one, 3), os.Truncate(two, 0)) }, []string{"1-20 1.blk was garbled"}, "", false},
	{"the process was killed while it wrote", false, "", func(_, two string) error { return add(two, "half of a mess") }, nil, "in the middle of a message", false},
	{"the process went on", false, "", func(_, two string) error {
		return add(two, string(record(21, time.Unix(21, 0), "s", "x", checksums("S", 2))))
	}, nil, "", false},
	{"a block is cut off between two messages, killed", false, "", func(one, _ string) error {
		_, starts := testBlock("S", 1, 1, 10)
		return os.Truncate(one, int64(starts[5]))
	}, cutSameFile, "", false},
	{"the server made a block smaller", false, "", func(one, _ string) error {
		data, starts := testBlock("S", 1, 1, 10)
		return atomicfile.Write(one, data[starts[5]:], 0o600)
	}, nil, "", false},
	{"the description is missing", true, "", func(one, _ string) error { return os.Remove(filepath.Join(one, "../../meta.inf")) }, nil, "description", false},
	{"all is missing", true, "", func(one, _ string) error { return os.RemoveAll(filepath.Join(one, "../..")) }, []string{"1-20 1.blk is missing, S/msgs/2.blk is missing"}, "description", false},
}

// TestCheck: what is reported for a damaged store, and that it is reported once.
func TestCheck(t *testing.T) {
	for _, tt := range checkCases {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			one, two := twoBlocks(t, dir)
			recordFiles(t, dir, tt.closed)
			if tt.boot != "" {
				if bootID() == "" {
					return // not known here
				}
				rebooted(t, dir, tt.boot)
			}
			if err := tt.damage(one, two); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			if err := Check(dir, tt.all, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
				t.Fatal(err)
			}
			losses, err := Losses(dir)
			if err != nil || len(losses) != len(tt.lost) {
				t.Fatalf("%v, %v, want %v", losses, err, tt.lost)
			}
			for i, l := range losses {
				between, cause, _ := strings.Cut(tt.lost[i], " ")
				if got := fmt.Sprintf("%d-%d", l.First, l.Last); got != between || !strings.Contains(l.Cause, cause) {
					t.Errorf("%s %s, want %s", got, l.Cause, tt.lost[i])
				}
			}
			if !strings.Contains(log.String(), tt.logs) || tt.logs == "" && len(losses) == 0 && log.Len() > 0 {
				t.Errorf("it logs %q, want %q", log.String(), tt.logs)
			}
			log.Reset()
			if err := Check(dir, false, slog.New(slog.NewTextHandler(&log, nil))); err != nil || tt.logs == "" && log.Len() > 0 {
				t.Errorf("the second time: %v, %s", err, log.String())
			}
			if again, err := Losses(dir); err != nil || len(again) != len(losses) {
				t.Errorf("the second time: %v, %v", again, err)
			}
		})
	}
}

// twoBlocks makes the files of a stream S with the messages 1 to 10 and 11 to 20.
func twoBlocks(t *testing.T, dir string) (one, two string) {
	t.Helper()
	folder := filepath.Join(dir, filepath.FromSlash(streamsDir), "S")
	one, two = filepath.Join(folder, blocksDir, "1.blk"), filepath.Join(folder, blocksDir, "2.blk")
	first, _ := testBlock("S", 1, 1, 10)
	second, _ := testBlock("S", 2, 11, 20)
	h := hashOf("S")
	h.Write([]byte("{}"))
	err := os.MkdirAll(filepath.Dir(one), 0o700)
	for path, text := range map[string][]byte{
		one: first, two: second, filepath.Join(folder, metaFile): []byte("{}"), filepath.Join(folder, metaSum): fmt.Appendf(nil, "%x", h.Sum(nil)),
	} {
		err = errors.Join(err, os.WriteFile(path, text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return one, two
}

// recordFiles has a Monitor record the files, as one that is closed in order or killed.
func recordFiles(t *testing.T, dir string, closed bool) {
	t.Helper()
	ranges := map[string]Range{"S": {1, 20}}
	looked := make(chan struct{})
	once := sync.OnceFunc(func() { close(looked) })
	monitor, err := StartMonitor(dir, asked(func() map[string]Range { once(); return ranges }), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	<-looked
	last := ranges
	if !closed {
		last = nil
	}
	if err := monitor.Close(last); err != nil {
		t.Fatal(err)
	}
}

// rebooted makes the recorded start of the machine another one.
func rebooted(t *testing.T, dir, boot string) {
	t.Helper()
	path := filepath.Join(dir, ledgerFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := decodeLedger(data)
	was.Boot = boot
	if data, err = was.encode(); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cutSameFile is what is reported for a block that was cut off between two messages after its
// process was killed. It is nothing where the system has no ids of files.
var cutSameFile = map[bool][]string{true: {"6-10 1.blk was cut off"}}[runtime.GOOS == "linux"]

// asked is a server that answers only for its streams.
type asked func() map[string]Range

func (a asked) Streams() (map[string]Range, error) { return a(), nil }
func (a asked) Messages(string) (*Messages, error) { return nil, errors.New("there is none") }

func nothing(_, _ string) error { return nil }

// continued makes the block after another one, as the server does when the last message of
// that, of a sequence number, is deleted.
func continued(two string, last uint64) error {
	return os.WriteFile(filepath.Join(filepath.Dir(two), "3.blk"), deleted(last, time.Unix(int64(last), 0), checksums("S", 3)), 0o600)
}

// garble changes a byte of a file, some time after the file was written.
func garble(path string, at int) error {
	data, err := os.ReadFile(path)
	if err == nil {
		data[at] ^= 0x55
		err = os.WriteFile(path, data, 0o600)
	}
	later := time.Now().Add(time.Second) // the clock of files is coarse
	return errors.Join(err, os.Chtimes(path, later, later))
}

// rot changes a byte of a file and keeps the time of the file.
func rot(path string, at int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return errors.Join(garble(path, at), os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func add(path, text string) error {
	data, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, append(data, text...), 0o600))
}

// TestUnreadable: a file that can't be read is an error, and nothing is changed.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(streamsDir), "S", blocksDir, "1.blk")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir, false, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "1.blk") {
		t.Errorf("%v, want the file", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestAcknowledge: what a stream has lost can be forgotten.
func TestAcknowledge(t *testing.T) {
	dir := t.TempDir()
	if err := addLosses(dir, []Loss{{Stream: "A", First: 1, Last: 2}, {Stream: "B", First: 1, Last: 1}}); err != nil {
		t.Fatal(err)
	}
	for i, stream := range []string{"C", "A", "B", "B"} {
		if err := Acknowledge(dir, stream); err != nil {
			t.Fatal(err)
		}
		if left, err := Losses(dir); err != nil || len(left) != []int{2, 1, 0, 0}[i] {
			t.Errorf("without %s: %v, %v", stream, left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, LossesFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want no file", err)
	}
}
