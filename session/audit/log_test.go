package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/session/audit"
)

// TestManyWriters: logs of several buses on one store write one chain, without a record
// lost, and each in its own order.
func TestManyWriters(t *testing.T) {
	external := natstest.Start(t, server.Options{})
	for name, at := range map[string]eventbus.Options{"embedded": {StoreDir: t.TempDir()}, "external": {URL: external.ClientURL()}} {
		t.Run(name, func(t *testing.T) { manyWriters(t, at) })
	}
}

func manyWriters(t *testing.T, at eventbus.Options) {
	const writers, records = 3, 60
	var writing sync.WaitGroup
	for w := range writers {
		l := openLog(t, bustest.Open(t, &at), audit.Options{User: fmt.Sprint("user", w)})
		writing.Go(func() {
			for n := range records {
				if err := l.Add(decision(n)); err != nil {
					t.Error(err)
				}
				if n%7 == 0 {
					if err := l.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if err := l.Add(decision(0)); !errors.Is(err, audit.ErrClosed) {
				t.Errorf("Add after Close: %v", err)
			}
		})
	}
	writing.Wait()
	l := openLog(t, bustest.Open(t, &at), audit.Options{})
	if report := verify(t, l, audit.Head{}); report.Records != writers*records {
		t.Errorf("%d records, want %d", report.Records, writers*records)
	}
	page, err := l.Page(t.Context(), &audit.Filter{}, audit.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	next := make(map[string]int)
	for _, r := range slices.Backward(page.Records) {
		if want := fmt.Sprint("call", next[r.User]); r.ToolCallID != want {
			t.Errorf("record %d of %s is %s, want %s", r.N, r.User, r.ToolCallID, want)
		}
		next[r.User]++
	}
}

// TestRotationByAge checks that only records older than the limit are removed, once an
// hour has passed since the last check. The rest verifies.
func TestRotationByAge(t *testing.T) {
	var clock atomic.Int64 // what the log's clock shows, in nanoseconds
	clock.Store(time.Now().UnixNano())
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	l := openLog(t, bus, audit.Options{MaxAge: 24 * time.Hour, Now: func() time.Time { return time.Unix(0, clock.Load()) }})
	for n := range 3 {
		add(t, l, decision(n))
	}
	old := *verify(t, l, audit.Head{}).Head
	between := time.Now()
	for n := range 3 {
		add(t, l, decision(n))
	}
	kept := verify(t, l, old)
	if kept.First != 1 || kept.Head.N != 6 {
		t.Fatalf("before their time: %+v", kept)
	}
	clock.Store(between.Add(24 * time.Hour).UnixNano())
	add(t, l, decision(6))
	report := verify(t, l, *kept.Head)
	page, err := l.Page(t.Context(), &audit.Filter{Kind: string(audit.Rotation)}, 10, "")
	if err != nil || len(page.Records) != 1 || page.Records[0].Rotated == nil || *page.Records[0].Rotated != old || report.First != 4 || report.Head.N != 8 {
		t.Errorf("after a day: %+v, %+v, %v", report, page.Records, err)
	}
	add(t, l, decision(7)) // it looks no second time
	if report := verify(t, l, audit.Head{}); report.First != 4 || report.Head.N != 9 {
		t.Errorf("after one more: %+v", report)
	}
}

// TestRotation: the oldest records are taken out, and the rest verifies; not so if more
// is taken out than the log says.
func TestRotation(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	l := openLog(t, bus, audit.Options{MaxBytes: 20_000})
	var head audit.Head
	for n := range 100 {
		add(t, l, decision(n))
		if n == 50 {
			head = *verify(t, l, audit.Head{}).Head
		}
	}
	report := verify(t, l, audit.Head{})
	if report.First < 2 || report.Head == nil || report.Head.N < 100 || len(export(t, l)) > 25_000 {
		t.Errorf("%d bytes are kept, from record %d to %v", len(export(t, l)), report.First, report.Head)
	}
	verify(t, l, *report.Head)
	verify(t, l, head, fmt.Sprintf("record %d of the anchor was rotated out: verify the export that has it", head.N))

	stream, err := bus.JetStream().Stream(t.Context(), audit.StreamName("ws"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), stream.CachedInfo().State.FirstSeq); err == nil {
		t.Error("a single message can be deleted")
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeKeep(1)); err != nil {
		t.Fatal(err)
	}
	if report, err := l.Verify(t.Context(), audit.Head{}); err != nil || len(report.Problems) != 1 || !strings.HasPrefix(report.Problems[0].Text, "records 1 to ") {
		t.Errorf("what is wrong after a purge: %+v, %v", report, err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := openLog(t, bus, audit.Options{})
	add(t, other, decision(1))
	if report, err := l.Verify(t.Context(), audit.Head{}); err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Text, "begins anew") {
		t.Errorf("what is wrong once all was deleted: %+v, %v", report, err)
	}
}

// TestFailsClosed: what the store does not take is an error, and stored once it does.
func TestFailsClosed(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	l := openLog(t, bus, audit.Options{})
	add(t, l, decision(1))
	stream, err := bus.JetStream().Stream(t.Context(), audit.StreamName("ws"))
	if err != nil {
		t.Fatal(err)
	}
	small := stream.CachedInfo().Config
	small.MaxMsgSize = 10
	if _, err := bus.JetStream().CreateOrUpdateStream(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	if err := l.Add(decision(2)); err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(t.Context()); err == nil {
		t.Fatal("a record is too large, and said to be stored")
	}
	small.MaxMsgSize = -1
	if _, err := bus.JetStream().CreateOrUpdateStream(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	for {
		if err := l.Flush(t.Context()); err == nil {
			break
		}
	}
	if report := verify(t, l, audit.Head{}); report.Records != 2 {
		t.Errorf("%d records, want 2", report.Records)
	}
}

// TestPolicyChange checks that the first record under another policy comes after a
// record of the change, whichever process writes it.
func TestPolicyChange(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	for _, policy := range []string{"", "one", "one", "two", ""} {
		l := openLog(t, bus, audit.Options{})
		under, unknown := decision(1), decision(2)
		under.Under = &policy
		add(t, l, under, unknown)
	}
	l := openLog(t, bus, audit.Options{})
	page, err := l.Page(t.Context(), &audit.Filter{}, audit.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range slices.Backward(page.Records) {
		if r.Kind == audit.PolicyChange {
			got = append(got, r.Before+">"+r.Policy)
		} else {
			got = append(got, r.Policy)
		}
	}
	if want := ",, >one,one,one,one,one, one>two,two,two, two>,,"; strings.Join(got, ",") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("policies %s, want %s", strings.Join(got, ","), want)
	}
	verify(t, l, audit.Head{})
}

// TestMasked checks that no field of a record has a credential.
func TestMasked(t *testing.T) {
	l := openLog(t, bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()}), audit.Options{})
	key := "gh" + "p_" + strings.Repeat("a1B2", 9)
	r := decision(1)
	r.Client, r.Rule, r.Reason, r.By, r.Always = key, key, key, key, []string{key}
	r.Values = []audit.Value{{Tool: "shell_exec", Text: "curl -H 'Authorization: Bearer " + key + "' x"}}
	add(t, l, r)
	page, err := l.Page(t.Context(), &audit.Filter{}, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(page.Records)
	if err != nil || bytes.Contains(data, []byte(key)) || bytes.Count(data, []byte("[masked: ")) != 6 {
		t.Errorf("%s, %v", data, err)
	}
	verify(t, l, audit.Head{})
}

// TestPages: pages have each record once, with and without a filter.
func TestPages(t *testing.T) {
	l := openLog(t, bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()}), audit.Options{})
	start := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for n := range 10 {
		var records []audit.Record
		for i := range 3 {
			r := decision(3*n + i)
			r.Time = start.Add(time.Duration(3*n+i) * time.Hour)
			records = append(records, r)
		}
		add(t, l, records...)
	}
	tests := []struct {
		filter audit.Filter
		want   int
	}{
		{audit.Filter{}, 30}, {audit.Filter{Agent: "agent1"}, 15}, {audit.Filter{Outcome: "denied"}, 10}, {audit.Filter{Tool: "task"}, 0},
		{audit.Filter{Session: "ses_0"}, 30}, {audit.Filter{Session: "ses_2"}, 0}, {audit.Filter{Kind: "answer"}, 0},
		{audit.Filter{Since: start.Add(5 * time.Hour), Until: start.Add(10 * time.Hour)}, 5},
	}
	for _, tt := range tests {
		for _, limit := range []int{1, 4, 30} {
			var got []uint64
			for cursor := ""; ; {
				page, err := l.Page(t.Context(), &tt.filter, limit, cursor)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page.Records {
					if len(got) > 0 && r.N >= got[len(got)-1] || !tt.filter.Matches(r) {
						t.Errorf("%+v: record %d behind %v", tt.filter, r.N, got)
					}
					got = append(got, r.N)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if len(got) != tt.want {
				t.Errorf("%+v by pages of %d: %d records, want %d", tt.filter, limit, len(got), tt.want)
			}
		}
	}
	if _, err := l.Page(t.Context(), &audit.Filter{}, 1, "x"); !errors.Is(err, audit.ErrCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
}
