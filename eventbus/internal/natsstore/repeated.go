package natsstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// repeated logs the same message at most once in a reportInterval: what is tried in
// a loop may fail for hours.
type repeated struct {
	log *slog.Logger

	mu   sync.Mutex
	last string
	at   time.Time
}

func (r *repeated) report(level slog.Level, msg string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := err.Error(); text != r.last || time.Since(r.at) >= reportInterval {
		r.last, r.at = text, time.Now()
		r.log.Log(context.Background(), level, msg, "err", err)
	}
}
