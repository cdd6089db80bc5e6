// Package oncelog logs what is tried in a loop without repeating it: the tries may
// fail for hours.
package oncelog

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// interval is how often the same error is logged.
const interval = time.Minute

// Logger logs the same error at most once a minute.
type Logger struct {
	log *slog.Logger

	mu   sync.Mutex
	last string
	at   time.Time
}

// New returns a Logger that writes to log.
func New(log *slog.Logger) *Logger { return &Logger{log: log} }

// Report logs err, unless it is the one that was logged last, less than a minute
// ago.
func (l *Logger) Report(level slog.Level, msg string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := err.Error(); text != l.last || time.Since(l.at) >= interval {
		l.last, l.at = text, time.Now()
		l.log.Log(context.Background(), level, msg, "err", err)
	}
}
