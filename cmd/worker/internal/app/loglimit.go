package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// maxAlike is how many warnings and errors that are alike are logged in a
	// limitWindow.
	maxAlike    = 100
	limitWindow = time.Minute

	// maxKinds bounds how many kinds are told apart in a limitWindow. All others are
	// one kind.
	maxKinds = 200
)

// limitLogs returns a handler that bounds warnings and errors. Strangers can cause them, as
// by connections to a port on loopback, as fast as they can connect. Lines that differ only
// in numbers, such as ports, count together. The first line of a kind in the next minute
// says how many were left out. Info and debug come from the worker's own work, and pass.
func limitLogs(h slog.Handler) slog.Handler {
	return &limited{Handler: h, seen: &seen{kinds: make(map[string]*kind)}}
}

type limited struct {
	slog.Handler
	*seen
}

// seen is what handlers that come from one share.
type seen struct {
	mu    sync.Mutex
	since time.Time
	kinds map[string]*kind
}

type kind struct{ logged, left int }

// Handle implements [slog.Handler].
func (l *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return l.Handler.Handle(ctx, r)
	}
	passes, left := l.count(kindOf(r))
	if !passes {
		return nil
	}
	if left > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("leftOut", left))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{l.Handler.WithAttrs(attrs), l.seen}
}

// WithGroup implements [slog.Handler].
func (l *limited) WithGroup(name string) slog.Handler {
	return &limited{l.Handler.WithGroup(name), l.seen}
}

// count counts a line. left is how many of its kind the last window left out.
func (s *seen) count(of string) (passes bool, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) >= limitWindow {
		s.since = now
		for name, k := range s.kinds {
			if k.left == 0 {
				delete(s.kinds, name)
			}
			k.logged = 0
		}
	}
	k := s.kinds[of]
	if k == nil && len(s.kinds) >= maxKinds {
		of = ""
		k = s.kinds[of]
	}
	if k == nil {
		k = new(kind)
		s.kinds[of] = k
	}
	if k.logged >= maxAlike {
		k.left++
		return false, 0
	}
	k.logged++
	left, k.left = k.left, 0
	return true, left
}

// kindOf returns the kind of a line: the beginning of its message, without digits.
func kindOf(r slog.Record) string {
	const enough = 60
	text := r.Message[:min(len(r.Message), enough)]
	return r.Level.String() + strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, text)
}
