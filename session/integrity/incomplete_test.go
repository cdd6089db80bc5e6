package integrity

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session/record"
)

// TestIncomplete: a session ran from 12:00 to 12:10, and its events had the numbers 10 to
// 20. The answer depends on what is stored, and on the losses of the store.
func TestIncomplete(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 22, hour, minute, 0, 0, time.UTC) }
	rec := &record.Record{ID: "ses_1", Schema: record.Schema, Status: record.Completed, Closed: true, CreatedAt: at(12, 0), EndedAt: at(12, 10)}
	loss := func(first, last uint64, after, before time.Time) eventbus.Loss {
		return eventbus.Loss{Stream: eventbus.Stream, First: first, Last: last, After: after, Before: before, Found: at(13, 0)}
	}
	other := loss(12, 14, time.Time{}, time.Time{})
	other.Stream = eventbus.PayloadStream
	for _, tt := range []struct {
		name       string
		begun, end uint64
		over       bool
		losses     []eventbus.Loss
		older      bool   // there are older events
		want       string // in the error; empty means nothing is missing
		lost       bool   // its end is lost, if it is not stored
	}{
		{"whole", 10, 20, true, nil, false, "", false},
		{"running", 10, 0, false, nil, false, "", false},
		{"deleted by age", 0, 20, true, nil, false, "its first events are gone: no damage of the store is known", false},
		{"gone, though older ones are there", 0, 20, true, nil, true, "its first events are gone: no damage of the store is known", false},
		{"lost beside older ones", 0, 20, true, []eventbus.Loss{loss(8, 12, at(11, 0), at(12, 3))}, true, "its first events are gone: the store is damaged", false},
		{"all deleted by age", 0, 0, true, nil, false, "its events are gone: no damage", false},
		{"a loss within", 10, 20, true, []eventbus.Loss{loss(12, 14, at(12, 1), at(12, 3))}, false, "some of its events may be gone: the store is damaged: messages 12 to 14", false},
		{"a loss before", 10, 20, true, []eventbus.Loss{loss(1, 9, time.Time{}, at(12, 0))}, false, "", false},
		{"a loss behind", 10, 20, true, []eventbus.Loss{loss(21, 30, at(12, 11), time.Time{})}, false, "", false},
		{"a loss in another stream", 10, 20, true, []eventbus.Loss{other}, false, "", false},
		{"the beginning is lost", 0, 20, true, []eventbus.Loss{loss(8, 12, at(11, 0), at(12, 3))}, false, "its first events are gone: the store is damaged", false},
		{"the end is lost", 10, 0, true, []eventbus.Loss{loss(15, 30, at(12, 5), time.Time{})}, false, "its session_end is not stored: its last events are gone: the store is damaged", true},
		{"the end is deleted, and something else lost later", 0, 0, true, []eventbus.Loss{loss(40, 50, at(12, 30), time.Time{})}, false, "its events are gone: no damage", false},
		{"the beginning is deleted, and something else lost before", 0, 20, true, []eventbus.Loss{loss(1, 5, time.Time{}, at(11, 0))}, false, "its first events are gone: no damage", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			oldest := at(12, 5)
			if tt.older {
				oldest = at(11, 0)
			}
			if i := incomplete(rec, tt.begun, tt.end, tt.over, tt.losses, oldest); i != nil {
				got = i.Error()
			}
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
			if lost := endLost(rec, tt.losses); tt.end == 0 && lost != tt.lost {
				t.Errorf("its end is lost: %t, want %t", lost, tt.lost)
			}
		})
	}
}

// TestNeverStored: a session has failed and lacks events, while older events are stored.
// Then it never had the missing ones.
func TestNeverStored(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r := &record.Record{ID: "ses_1", Schema: record.Schema, Status: record.Failed, Closed: true, CreatedAt: now, EndedAt: now.Add(time.Minute)}
	if i := incomplete(r, 0, 20, true, nil, now.Add(-time.Hour)); i != nil {
		t.Errorf("it says %v", i)
	}
}
