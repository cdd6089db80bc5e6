package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// Figures are what a measurement has found, by name.
type Figures = map[string]float64

// use opens a way for a measurement.
func use(open Open, measure func(ctx context.Context, w Way) (Figures, error)) (Figures, error) {
	w, err := open()
	if err != nil {
		return nil, err
	}
	figures, err := measure(context.Background(), w)
	return figures, errors.Join(err, w.Close())
}

// Publish measures n events with one wait at their end: a flood, as a model that
// answers at once makes it. The way may join the pieces of a text.
func Publish(open Open, n int, text bool) (Figures, error) {
	return use(open, func(ctx context.Context, w Way) (Figures, error) {
		stored, took, err := fill(ctx, w, n, text)
		if err != nil {
			return nil, err
		}
		events, got, err := read(ctx, w)
		if err != nil {
			return nil, err
		}
		if want := strings.Repeat(word.Delta, stored); text && got != want || !text && events != stored {
			return nil, fmt.Errorf("%d events with %d bytes of text are stored, of %d events", events, len(got), stored)
		}
		return Figures{"rate": float64(n) / took.Seconds()}, nil
	})
}

// fill publishes n events after a few others. It returns how many it has
// published in all, and how long the n took.
func fill(ctx context.Context, w Way, n int, text bool) (stored int, took time.Duration, err error) {
	before := n / 10
	events := make([]event.Event, before+n)
	for i := range events {
		events[i] = plain
		if text {
			ev := word
			ev.Offset = i * len(word.Delta)
			events[i] = ev
		}
	}
	if err := w.Prepare(events); err != nil {
		return 0, 0, err
	}
	if err := publish(ctx, w, 0, before); err != nil {
		return 0, 0, err
	}
	runtime.GC()
	start := time.Now()
	err = publish(ctx, w, before, len(events))
	return len(events), time.Since(start), err
}

func publish(ctx context.Context, w Way, from, to int) error {
	for i := from; i < to; i++ {
		if err := w.Publish(ctx, i); err != nil {
			return err
		}
	}
	return w.Wait(ctx)
}

// Replay measures reading n stored events.
func Replay(open Open, n int) (Figures, error) {
	return use(open, func(ctx context.Context, w Way) (Figures, error) {
		stored, _, err := fill(ctx, w, n, false)
		if err != nil {
			return nil, err
		}
		runtime.GC()
		start, events := time.Now(), 0
		for _, err := range w.Follow(ctx, false) {
			if err != nil {
				return nil, err
			}
			events++
		}
		took := time.Since(start)
		if events != stored {
			return nil, fmt.Errorf("%d of %d events were read", events, stored)
		}
		return Figures{"rate": float64(events) / took.Seconds()}, nil
	})
}

// Latency measures the time from a publish to the parent's follower, n times at
// 2,000 events a second.
func Latency(open Open, n int) (Figures, error) {
	return use(open, func(ctx context.Context, w Way) (Figures, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events := make([]event.Event, n)
		for i := range events {
			events[i] = plain
		}
		if err := w.Prepare(events); err != nil {
			return nil, err
		}
		got, ended := make(chan time.Time, 1), make(chan error, 1)
		go func() {
			for _, err := range w.Follow(ctx, true) {
				if err != nil {
					ended <- err
					return
				}
				got <- time.Now()
			}
		}()
		times := make([]time.Duration, n)
		tick := time.NewTicker(500 * time.Microsecond)
		defer tick.Stop()
		for i := range times {
			<-tick.C
			start := time.Now()
			if err := w.Publish(ctx, i); err != nil {
				return nil, err
			}
			select {
			case at := <-got:
				times[i] = at.Sub(start)
			case err := <-ended:
				return nil, err
			}
		}
		cancel()
		<-ended
		slices.Sort(times)
		return Figures{"p50": us(times[n/2]), "p99": us(times[n*99/100])}, nil
	})
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// First measures the time from the begin of a session to its first event at a
// follower of its own, n times.
func First(open Open, n int) (Figures, error) {
	return use(open, func(ctx context.Context, w Way) (Figures, error) {
		times := make([]time.Duration, n)
		for i := range times {
			start := time.Now()
			s, err := w.Begin(ctx)
			if err != nil {
				return nil, err
			}
			for _, err := range s.Follow(ctx) {
				if err != nil {
					return nil, err
				}
				times[i] = time.Since(start)
				break
			}
			if err := s.End(ctx); err != nil {
				return nil, err
			}
		}
		slices.Sort(times)
		return Figures{"p50": us(times[n/2])}, nil
	})
}

// Followers measures n sessions with a follower each, while they are silent: what
// a follower keeps in memory, its part of the time until all had their session's
// first event, and how many have got all events once the sessions have ended.
func Followers(open Open, n int) (Figures, error) {
	return use(open, func(ctx context.Context, w Way) (Figures, error) {
		if most := w.MaxFollowers(); most > 0 {
			n = min(n, most)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		sessions, err := begin(ctx, w, n)
		if err != nil {
			return nil, err
		}
		before, start := InUse(), time.Now()
		var first, all sync.WaitGroup
		first.Add(n)
		errs := make(chan error, n)
		for _, s := range sessions {
			all.Go(func() { errs <- follow(ctx, s, first.Done) })
		}
		first.Wait()
		took := time.Since(start)
		each := (InUse() - before) / float64(n)
		for _, s := range sessions {
			if err := s.End(ctx); err != nil {
				cancel()
				all.Wait()
				return nil, err
			}
		}
		all.Wait()
		close(errs)
		served := 0
		var failed error
		for err := range errs {
			if err == nil {
				served++
			} else {
				failed = err
			}
		}
		if failed != nil {
			return nil, fmt.Errorf("%d of %d followers were served: %w", served, n, failed)
		}
		return Figures{"kib": each / 1024, "us": us(took) / float64(n), "served": float64(served)}, nil
	})
}

// begin begins n sessions, and waits until their first events are stored.
func begin(ctx context.Context, w Way, n int) ([]Session, error) {
	sessions := make([]Session, n)
	for i := range sessions {
		var err error
		if sessions[i], err = w.Begin(ctx); err != nil {
			return nil, err
		}
	}
	return sessions, w.Wait(ctx)
}

// follow reads a session to its end. It calls first at the first event, or when
// there is none to come.
func follow(ctx context.Context, s Session, first func()) (err error) {
	events := 0
	for _, err = range s.Follow(ctx) {
		if err != nil {
			break
		}
		if events++; events == 1 {
			first()
		}
	}
	if events == 0 {
		first()
	}
	if err == nil && events < 2 {
		err = fmt.Errorf("a stream ended after %d events", events)
	}
	return err
}

// InUse returns the bytes in use of the heap and the stacks.
func InUse() float64 {
	for range 3 { // stacks shrink by half at each
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}
