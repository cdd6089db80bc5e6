package audits

import (
	"testing"
	"time"
)

// TestCell: no cell is a formula for a spreadsheet.
func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "echo 1": "echo 1", "=1+1": "'=1+1", "+1": "'+1", "-rf": "'-rf", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "  =1": "'  =1",
		"\x1b=1": "'=1", "\r\n=1": "'\n=1", "a=1": "a=1", "＝1": "'＝1", "|calc": "'|calc",
	} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"2026-11-01T08:00:00+01:00": time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC),
		"yesterday":                 {}, "": {}, "-2h": {}, "99999999d": {}, "7dd": {}, "2026-13-01": {},
	} {
		got, err := parseTime(text, now)
		if (err != nil) != want.IsZero() || err == nil && !got.Equal(want) {
			t.Errorf("parseTime(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}
