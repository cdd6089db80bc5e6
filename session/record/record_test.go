package record_test

import (
	"testing"
	"time"

	"github.com/agentworker/worker/session/record"
)

// TestRecordIsArchived: by the time since the end, and by nothing else.
func TestRecordIsArchived(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		status record.Status
		ago    time.Duration
		after  time.Duration
		want   bool
	}{
		{record.Completed, time.Hour, time.Hour, true},
		{record.Interrupted, 2 * time.Hour, time.Hour, true},
		{record.Completed, time.Minute, time.Hour, false},
		{record.Completed, 1000 * time.Hour, 0, false},
		{record.Running, 1000 * time.Hour, time.Hour, false},
	} {
		r := &record.Record{Status: tt.status}
		if tt.status.Ended() {
			r.EndedAt = now.Add(-tt.ago)
		}
		if got := r.Archived(tt.after, now); got != tt.want {
			t.Errorf("%s, %s ago, after %s: archived %v, want %v", tt.status, tt.ago, tt.after, got, tt.want)
		}
	}
}
