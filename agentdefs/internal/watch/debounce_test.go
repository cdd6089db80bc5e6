package watch_test

import (
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/agentdefs/internal/watch"
)

func TestDebounce(t *testing.T) {
	start := time.Unix(1000, 0)
	ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	type event struct {
		path string
		what scan.Effect
		at   time.Time
	}
	for _, tt := range []struct {
		name     string
		events   []event
		snapshot time.Time // the one before
		due      time.Time
	}{
		{"nothing", nil, ms(0), time.Time{}},
		{"one file", []event{{"a", scan.FileOnly, ms(0)}}, time.Time{}, ms(1)},
		{"one file, written twice", []event{{"a", scan.FileOnly, ms(0)}, {"a", scan.FileOnly, ms(1)}}, time.Time{}, ms(2)},
		{"one file, right after a snapshot", []event{{"a", scan.FileOnly, ms(0)}}, ms(-10), ms(4)},
		{"two files", []event{{"a", scan.FileOnly, ms(0)}, {"b", scan.FileOnly, ms(3)}}, time.Time{}, ms(28)},
		{"a folder", []event{{"a", scan.Structure, ms(0)}}, time.Time{}, ms(25)},
		{"events without end", []event{{"a", scan.FileOnly, ms(0)}, {"b", scan.FileOnly, ms(490)}}, time.Time{}, ms(500)},
	} {
		var d watch.Debounce
		for _, e := range tt.events {
			d.Add(e.path, e.what, e.at)
		}
		if got := d.Due(tt.snapshot); !got.Equal(tt.due) {
			t.Errorf("%s: due %v after the first event, want %v", tt.name, got.Sub(start), tt.due.Sub(start))
		}
	}
}

// TestChanged holds that only files with an event have changed, and all files
// where events were lost.
func TestChanged(t *testing.T) {
	var d watch.Debounce
	d.Add("/a", scan.FileOnly, time.Unix(1, 0))
	if !d.Changed("/a") || d.Changed("/b") {
		t.Errorf("changed: a %v, b %v", d.Changed("/a"), d.Changed("/b"))
	}
	d.AddAll(time.Unix(2, 0))
	if !d.Changed("/b") {
		t.Error("b has not changed, though events were lost")
	}
}

func TestEarlier(t *testing.T) {
	never, a, b := time.Time{}, time.Unix(1, 0), time.Unix(2, 0)
	for _, tt := range []struct{ a, b, want time.Time }{{never, never, never}, {a, never, a}, {never, a, a}, {a, b, a}, {b, a, a}} {
		if got := watch.Earlier(tt.a, tt.b); !got.Equal(tt.want) {
			t.Errorf("%v, %v: %v", tt.a, tt.b, got)
		}
	}
}
