package page

import (
	"fmt"
	"testing"
)

// TestDeleted: a session that was deleted is dropped with those below it, and a browser that
// has them begins anew.
func TestDeleted(t *testing.T) {
	h := &hub{epoch: 1, revision: 10, stop: func() {}, changed: make(chan struct{}), rows: map[string]*Row{
		"top": {ID: "top", Revision: 1}, "gone": {ID: "gone", ParentID: "top", Revision: 1},
		"below": {ID: "below", ParentID: "gone", Revision: 1}, "other": {ID: "other", ParentID: "top", Revision: 1},
	}}
	h.deleted("gone")
	u, now, _ := h.since(1, 10)
	if !u.Reset || len(u.Rows) != 2 || h.rows["top"] == nil || h.rows["other"] == nil || now.revision != 11 {
		t.Errorf("%+v at %+v", u, now)
	}
	if u, _, _ := h.since(1, 11); u.Reset {
		t.Error("a browser that has begun anew does so again")
	}
	(&hub{}).deleted("gone") // nobody looks
}

// TestForget: of many sessions that have ended the first ones are forgotten, but for those
// above one that goes on, and a browser that was there before begins anew.
func TestForget(t *testing.T) {
	h := &hub{epoch: 1, revision: 10, stop: func() {}, rows: map[string]*Row{
		"live": {ID: "live", ParentID: "above"}, "above": {ID: "above", ParentID: "top", EndedAt: 2}, "top": {ID: "top", EndedAt: 1},
	}}
	add := func(n int) {
		for range n {
			id := fmt.Sprint(len(h.rows))
			h.rows[id] = &Row{ID: id, EndedAt: int64(len(h.rows))}
		}
		h.forget()
	}
	add(endedRows + cutRows)
	if len(h.rows) != endedRows+cutRows+3 || h.cut != 0 {
		t.Fatalf("%d rows, cut %d", len(h.rows), h.cut)
	}
	add(1)
	for _, id := range []string{"live", "above", "top", fmt.Sprint(endedRows + cutRows + 3)} {
		if h.rows[id] == nil {
			t.Errorf("%s was forgotten", id)
		}
	}
	if len(h.rows) != endedRows+3 || h.rows["3"] != nil {
		t.Errorf("%d rows", len(h.rows))
	}
	for seen, want := range map[uint64]bool{9: true, 10: false} {
		if u, _, _ := h.since(1, seen); u.Reset != want {
			t.Errorf("a browser that has seen %d: reset %v", seen, u.Reset)
		}
	}
}
