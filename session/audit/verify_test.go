package audit_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/session/audit"
)

func check(data []byte, anchor audit.Head) *audit.Report {
	v := &audit.Verifier{Anchor: anchor}
	if err := v.File(bytes.NewReader(data)); err != nil {
		panic(err)
	}
	return v.Report()
}

// TestAnyByte: a log of which one byte is another one does not verify, whichever byte it
// is: as an export, and as the messages of the stream.
func TestAnyByte(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	l := openLog(t, bus, audit.Options{User: "alice@host"})
	for n := range 4 {
		add(t, l, decision(n), decision(n))
	}
	data := export(t, l)
	messages := stored(t, bus)
	if report := check(data, audit.Head{}); len(report.Problems) > 0 || report.Records != 8 {
		t.Fatalf("as it was written: %+v", report)
	}
	if !bytes.Equal(bytes.Join(messages, nil), data) || len(messages) != 4 {
		t.Fatalf("%d messages do not have what was exported", len(messages))
	}
	random := rand.New(rand.NewPCG(1, 18))
	for range 1000 {
		at, other := random.IntN(len(data)), byte(1+random.IntN(255))
		changed := slices.Clone(data)
		changed[at] ^= other
		if report := check(changed, audit.Head{}); len(report.Problems) == 0 {
			t.Fatalf("byte %d of the export is %q in place of %q: not found", at, changed[at], data[at])
		}
		m := random.IntN(len(messages))
		v := &audit.Verifier{}
		for i, message := range messages {
			if i == m {
				message = slices.Clone(message)
				message[random.IntN(len(message))] ^= other
			}
			v.Lines(message)
		}
		if report := v.Report(); len(report.Problems) == 0 {
			t.Fatalf("a byte of message %d is another one: not found", m)
		}
	}
}

// TestLostRecords: the chain does not show that its newest records are lost with files of
// the store, or all of them. The store knows of it.
func TestLostRecords(t *testing.T) {
	dir := t.TempDir()
	opts := &eventbus.Options{StoreDir: dir}
	bus, err := eventbus.Open(t.Context(), "ws", opts)
	if err != nil {
		t.Fatal(err)
	}
	l := openLog(t, bus, audit.Options{})
	for n := range 3 {
		add(t, l, decision(n))
	}
	if err := errors.Join(l.Close(), bus.Close()); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", audit.StreamName("ws"), "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatal(blocks, err)
	}
	for _, block := range blocks {
		if err := os.Remove(block); err != nil {
			t.Fatal(err)
		}
	}
	report, err := openLog(t, bustest.Open(t, opts), audit.Options{}).Verify(t.Context(), audit.Head{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Records != 0 || len(report.Problems) != 1 || report.Problems[0].Record != 1 || !strings.Contains(report.Problems[0].Text, "lost") {
		t.Errorf("%+v", report)
	}
}

// stored returns the messages of the log.
func stored(t *testing.T, bus *eventbus.Bus) (all [][]byte) {
	t.Helper()
	stream, err := bus.JetStream().Stream(t.Context(), audit.StreamName("ws"))
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range bus.Range(t.Context(), stream, 1, stream.CachedInfo().State.LastSeq) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Data)
	}
	return all
}

// TestWhichRecord: what is wrong is said with the number of the record.
func TestWhichRecord(t *testing.T) {
	l := openLog(t, bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()}), audit.Options{})
	other := openLog(t, bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()}), audit.Options{})
	for n := range 6 {
		add(t, l, decision(n))
		add(t, other, decision(n+100))
	}
	lines := slices.Collect(bytes.Lines(export(t, l)))
	others := slices.Collect(bytes.Lines(export(t, other)))
	head := *check(bytes.Join(lines, nil), audit.Head{}).Head
	tests := []struct {
		name   string
		change func([][]byte) [][]byte
		anchor audit.Head
		want   []string
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, head, nil},
		{"changed", func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("allowed"), []byte("ALLOWED"), 1)
			return l
		}, audit.Head{}, []string{"record 3 was changed: its hash is another one"}},
		{"replaced", func(l [][]byte) [][]byte { l[2] = others[2]; return l }, audit.Head{}, []string{
			"record 3 does not follow record 2: one of them was replaced", "record 4 does not follow record 3: one of them was replaced"}},
		{"one missing", func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, audit.Head{}, []string{"record 3 is missing"}},
		{"some missing", func(l [][]byte) [][]byte { return slices.Delete(l, 1, 4) }, audit.Head{}, []string{"records 2 to 4 are missing"}},
		{"the start missing", func(l [][]byte) [][]byte { return l[2:] }, audit.Head{}, []string{"records 1 to 2 are missing"}},
		{"swapped", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, audit.Head{}, []string{
			"record 3 is missing", "record 3 stands behind record 4: it was moved, or is there twice"}},
		{"twice", func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[2]) }, audit.Head{}, []string{
			"record 3 stands behind record 3: it was moved, or is there twice"}},
		{"the end missing", func(l [][]byte) [][]byte { return l[:4] }, head, []string{
			"the log ends with record 4, before record 6 of the anchor: its end was cut off, or it is another log"}},
		{"another log", func([][]byte) [][]byte { return others }, head, []string{"record 6 is not the one of the anchor: the log was written anew"}},
		{"a cut line", func(l [][]byte) [][]byte { l[5] = l[5][:20]; return l }, audit.Head{}, []string{
			"the last line, where record 6 is expected, is cut off"}},
		{"no log", func([][]byte) [][]byte { return [][]byte{[]byte("hello\n")} }, audit.Head{}, []string{
			`what stands where record 1 is expected is no record of an audit log: "hello"`}},
	}
	for _, tt := range tests {
		report := check(bytes.Join(tt.change(slices.Clone(lines)), nil), tt.anchor)
		t.Run(tt.name, func(t *testing.T) { expect(t, report, tt.want...) })
	}
	again, err := audit.ParseHead(head.String())
	if err != nil || again != head {
		t.Errorf("ParseHead(%s) = %v, %v", head, again, err)
	}
	for _, bad := range []string{"", "6", head.Hash, "0:" + head.Hash, "6:" + strings.ToUpper(head.Hash), head.String() + "0", "-" + head.String()} {
		if _, err := audit.ParseHead(bad); err == nil {
			t.Errorf("ParseHead(%q) takes it", bad)
		}
	}
}
