package index_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// shelf is a store with sessions that no process runs.
type shelf struct {
	*store.Store
	bus   *eventbus.Bus
	began time.Time
	n     int
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	s, err := store.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{Store: s, bus: bus, began: time.Now().UTC()}
}

// add stores a session that has ended, and returns its record.
func (s *shelf) add(t testing.TB) record.Record {
	t.Helper()
	s.n++
	at := s.began.Add(time.Duration(s.n) * time.Millisecond)
	id := fmt.Sprintf("ses_%016d", s.n)
	r := record.Record{
		Schema: record.Schema, ID: id, Path: event.Path(nil).Child(id, "explore"), Agent: "explore", Status: record.Completed,
		CreatedAt: at, StartedAt: at, EndedAt: at, BootID: "boot_gone", Closed: true,
	}
	s.put(t, "opened."+id, r)
	s.put(t, id, r)
	return r
}

func (s *shelf) put(t testing.TB, key string, r record.Record) {
	t.Helper()
	data, err := json.Marshal(r)
	if err == nil {
		_, err = s.bus.JetStream().Publish(context.WithoutCancel(t.Context()), "$KV.AGENT_SESSIONS.ws."+key, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPages: successive pages have each session once that exists throughout, the newest
// first. Sessions are opened, changed and deleted between two pages.
func TestPages(t *testing.T) {
	s := newShelf(t)
	stream, err := s.bus.JetStream().Stream(t.Context(), "KV_AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		if err := stream.Purge(t.Context()); err != nil {
			rt.Fatal(err)
		}
		s.n = 0
		there := make(map[string]record.Record)
		for range rapid.IntRange(0, 12).Draw(rt, "more") {
			r := s.add(t)
			there[r.ID] = r
		}
		o := index.ListOptions{Limit: rapid.IntRange(1, 9).Draw(rt, "limit")}
		seen := make(map[string]bool)
		var last time.Time
		for first := true; first || o.Cursor != ""; first = false {
			page, err := s.Index.Page(t.Context(), o)
			if err != nil {
				rt.Fatal(err)
			}
			if len(page.Sessions) > o.Limit || page.Next != "" && len(page.Sessions) < o.Limit {
				rt.Fatalf("a page of %d has %d sessions, and the next is %q", o.Limit, len(page.Sessions), page.Next)
			}
			for _, r := range page.Sessions {
				if seen[r.ID] {
					rt.Fatalf("%s comes twice", r.ID)
				}
				if !last.IsZero() && r.CreatedAt.After(last) {
					rt.Fatalf("%s comes behind an older one", r.ID)
				}
				seen[r.ID], last = true, r.CreatedAt
			}
			o.Cursor = page.Next
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				switch what := rapid.IntRange(0, 2).Draw(rt, "what"); {
				case what == 0 || len(there) == 0:
					s.add(t)
				default:
					ids := make([]string, 0, len(there))
					for i := 1; i <= s.n; i++ {
						if id := fmt.Sprintf("ses_%016d", i); there[id].ID != "" {
							ids = append(ids, id)
						}
					}
					r := there[rapid.SampledFrom(ids).Draw(rt, "which")]
					if what == 1 {
						r.Steps++
						s.put(t, r.ID, r)
						there[r.ID] = r
						break
					}
					if n, err := s.Retention.Delete(t.Context(), r.ID); n != 1 || err != nil {
						rt.Fatal(n, err)
					}
					delete(there, r.ID)
				}
			}
		}
		for id := range there {
			if !seen[id] {
				rt.Fatalf("%s was there all the while, and comes on no page", id)
			}
		}
	})
}

// TestPagesRebuilt: after a rebuild of the index, sessions whose marks were lost are
// listed.
func TestPagesRebuilt(t *testing.T) {
	s := newShelf(t)
	const sessions = 40
	for range sessions {
		s.add(t)
	}
	stream, err := s.bus.JetStream().Stream(t.Context(), "KV_AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.AGENT_SESSIONS.ws.opened.>")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Integrity.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := s.Index.List(t.Context())
	if err != nil || len(records) != sessions {
		t.Fatalf("%d sessions, %v, want %d", len(records), err, sessions)
	}
	for i, r := range records {
		if want := fmt.Sprintf("ses_%016d", sessions-i); r.ID != want {
			t.Fatalf("session %d is %s, want %s", i, r.ID, want)
		}
	}
}

// TestPageSince: sessions that ended before Since are left out, and running ones never,
// however old. A session that got its mark late hides no other.
func TestPageSince(t *testing.T) {
	s := newShelf(t)
	s.began = s.began.Add(-2 * time.Hour)
	running, old, long := s.add(t), s.add(t), s.add(t)
	since := time.Now().UTC()
	running.Status, running.Closed, running.EndedAt = record.Running, false, time.Time{}
	long.EndedAt = since.Add(time.Second)
	for _, r := range []record.Record{running, long} {
		s.put(t, r.ID, r)
	}
	s.began = since
	fresh := s.add(t)
	s.put(t, "opened."+old.ID, old)
	page, err := s.Index.Page(t.Context(), index.ListOptions{Since: since})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range page.Sessions {
		ids = append(ids, r.ID)
	}
	if fmt.Sprint(ids) != fmt.Sprint([]string{fresh.ID, long.ID, running.ID}) || page.Next != "" || !page.Left {
		t.Errorf("%v, next %q, left out %v, want all but %s", ids, page.Next, page.Left, old.ID)
	}
}

// TestCursors: whatever is not a cursor is refused, and nothing else.
func TestCursors(t *testing.T) {
	s := newShelf(t)
	for range 3 {
		s.add(t)
	}
	page, err := s.Index.Page(t.Context(), index.ListOptions{Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		data, err := base64.RawURLEncoding.DecodeString(page.Next)
		if err != nil {
			rt.Fatal(err)
		}
		data[rapid.IntRange(0, len(data)-1).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		for _, bad := range []string{base64.RawURLEncoding.EncodeToString(data), rapid.StringN(1, 40, 80).Draw(rt, "text")} {
			if _, err := s.Index.Page(t.Context(), index.ListOptions{Cursor: bad}); bad != page.Next && !errors.Is(err, index.ErrCursor) {
				rt.Fatalf("%q: %v", bad, err)
			}
		}
	})
}

// BenchmarkPage: the cost of a page does not depend on how many sessions there are.
func BenchmarkPage(b *testing.B) {
	for _, sessions := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) {
			s := newShelf(b)
			for range sessions {
				s.add(b)
			}
			o := index.ListOptions{Limit: 100}
			if _, err := s.Index.Page(b.Context(), o); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				page, err := s.Index.Page(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				if o.Cursor = page.Next; len(page.Sessions) != 100 {
					o.Cursor = ""
				}
			}
		})
	}
}
