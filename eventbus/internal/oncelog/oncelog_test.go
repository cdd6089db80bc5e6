package oncelog

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := New(slog.New(slog.NewTextHandler(&out, nil)))
		for _, step := range []struct {
			text  string
			after time.Duration
			lines int // so far
		}{
			{"a", 0, 1}, {"a", time.Second, 1}, {"b", 0, 2}, {"a", 0, 3}, {"a", interval, 4},
		} {
			<-time.After(step.after)
			l.Report(slog.LevelWarn, "trying again", errors.New(step.text))
			if lines := strings.Count(out.String(), "\n"); lines != step.lines {
				t.Errorf("%q after %s: %d lines, want %d", step.text, step.after, lines, step.lines)
			}
		}
	})
}
