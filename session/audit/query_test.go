package audit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/agentworker/worker/session/audit"
)

// TestQuery: times are read as people write them, and what can't be read is named.
func TestQuery(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T08:00:00+01:00": time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC),
		"yesterday":                 {}, "-2h": {}, "99999999d": {}, "7dd": {}, "2026-13-01": {},
	} {
		f, err := (&audit.Query{Since: text}).Filter(now)
		bad := (*audit.QueryError)(nil)
		if errors.As(err, &bad) != want.IsZero() || bad != nil && bad.Name != "since" || err == nil && !f.Since.Equal(want) {
			t.Errorf("%q: %+v, %v, want %v", text, f, err, want)
		}
	}
	for name, q := range map[string]audit.Query{"kind": {Kind: "x"}, "until": {Until: "x"}, "since": {Since: "1h", Until: "2h"}} {
		bad := (*audit.QueryError)(nil)
		if _, err := q.Filter(now); !errors.As(err, &bad) || bad.Name != name {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if f, err := (&audit.Query{}).Filter(now); err != nil || *f != (audit.Filter{}) {
		t.Errorf("nothing chosen: %+v, %v", f, err)
	}
}
