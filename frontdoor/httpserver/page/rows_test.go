package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
)

// add adds a session that runs, or has ended after so many seconds.
func (r *rows) add(id, parent string, ended int) {
	rec := &record.Record{ID: id, ParentID: parent, Path: event.Path{{SessionID: id}}, Status: record.Running}
	if ended > 0 {
		rec.Status, rec.EndedAt = record.Completed, time.Unix(int64(ended), 0)
	}
	r.put(rec)
	r.forget()
}

// TestDeleted: a session that was deleted is removed with those below it, and a browser that
// has them starts again.
func TestDeleted(t *testing.T) {
	r := newRows()
	for id, parent := range map[string]string{"top": "", "gone": "top", "below": "gone", "other": "top"} {
		r.add(id, parent, 0)
	}
	seen := r.revision
	h := &hub{epoch: 1, stop: func() {}, changed: make(chan struct{}), rows: r}
	h.deleted("gone")
	u, now, _ := h.since(1, seen)
	if !u.Reset || len(u.Rows) != 2 || r.tree.Get("top") == nil || r.tree.Get("other") == nil || now.revision != seen+1 {
		t.Errorf("%+v at %+v", u, now)
	}
	if u, _, _ := h.since(1, seen+1); u.Reset {
		t.Error("a browser that has started again does so once more")
	}
	(&hub{}).deleted("gone") // no browser is there
}

// TestForget: of many sessions that have ended the first ones are forgotten, except those
// above a running one, and a browser that was there before starts again.
func TestForget(t *testing.T) {
	r := newRows()
	r.add("live", "above", 0)
	r.add("above", "top", 2)
	r.add("top", "", 1)
	add := func(n int) {
		for range n {
			r.add(fmt.Sprint(len(r.changed)), "", len(r.changed))
		}
	}
	add(endedRows + cutRows)
	if len(r.changed) != endedRows+cutRows+3 || r.cut != 0 {
		t.Fatalf("%d rows, cut %d", len(r.changed), r.cut)
	}
	before := r.revision
	add(1)
	for _, id := range []string{"live", "above", "top", fmt.Sprint(endedRows + cutRows + 3)} {
		if r.tree.Get(id) == nil {
			t.Errorf("%s was forgotten", id)
		}
	}
	if len(r.changed) != endedRows+3 || r.tree.Get("3") != nil {
		t.Errorf("%d rows", len(r.changed))
	}
	for seen, want := range map[uint64]bool{before: true, r.revision: false} {
		if u := r.since(seen); u.Reset != want {
			t.Errorf("a browser that has seen %d: reset %v", seen, u.Reset)
		}
	}
}

// TestLookups: the record of a new session is looked up once, that of an ended one until it has
// the end.
func TestLookups(t *testing.T) {
	r := newRows()
	apply := func(seq uint64, ev event.Event) {
		r.apply(live.Event{Path: event.Path{{SessionID: "s"}}, Event: ev, Seq: seq})
	}
	apply(1, event.SessionStart{})
	if first, second := r.lookUp(), r.lookUp(); len(first) != 1 || len(second) != 0 {
		t.Errorf("a new one: %v, %v", first, second)
	}
	apply(2, event.SessionEnd{Status: "completed"})
	r.put(&record.Record{ID: "s", Path: event.Path{{SessionID: "s"}}, Status: record.Running})
	if ids := r.lookUp(); len(ids) != 1 {
		t.Error("one that has ended is not looked up again")
	}
	r.add("s", "", 9)
	if ids := r.lookUp(); len(ids) != 0 {
		t.Error("one is looked up whose record is there")
	}
}
