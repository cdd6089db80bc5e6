package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"sync"
	"time"
)

// options are those of a command line.
type options struct {
	short    bool
	duration time.Duration // 0 means what the campaign says
	seed     uint64
	binary   string
}

// run is one run of a campaign.
type run struct {
	options
	ctx    context.Context
	dir    string     // of its files
	random *rand.Rand // of the goroutine that causes the failures

	figures []string
	stop    context.CancelFunc
	running sync.WaitGroup

	lock   sync.Mutex
	broken []string // the promises that were not kept
	ends   []func() // called in the reverse order
}

func newRun(ctx context.Context, c campaign, o options, dir string) *run {
	if o.duration == 0 {
		o.duration = c.long
		if o.short {
			o.duration = c.short
		}
	}
	r := &run{options: o, dir: dir, random: rand.New(rand.NewPCG(o.seed, hash(c.name)))}
	r.ctx, r.stop = context.WithCancel(ctx)
	return r
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// close ends what the campaign has started.
func (r *run) close() {
	r.stop()
	for i := len(r.ends) - 1; i >= 0; i-- {
		r.ends[i]()
	}
	r.running.Wait()
}

// atEnd has f called when the campaign is over.
func (r *run) atEnd(f func()) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.ends = append(r.ends, f)
}

// maxBroken bounds what is printed of a campaign: the first ones tell most.
const maxBroken = 12

// broke says which promise was not kept.
func (r *run) broke(format string, args ...any) {
	r.lock.Lock()
	defer r.lock.Unlock()
	switch {
	case len(r.broken) < maxBroken:
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	case len(r.broken) == maxBroken:
		r.broken = append(r.broken, "and more")
	}
}

// figure adds to the campaign's line.
func (r *run) figure(format string, args ...any) {
	r.figures = append(r.figures, fmt.Sprintf(format, args...))
}

// between returns a random time.
func (r *run) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.random.Int64N(int64(high-low)))
}

// pause waits, and reports whether the campaign goes on.
func (r *run) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// rounds yields the numbers of the rounds of a campaign, from 0: least of them, and
// more as long as its time is not over. Before each it waits for a random time.
func (r *run) rounds(least int, low, high time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		end := time.Now().Add(r.duration)
		for i := 0; (i < least || time.Now().Before(end)) && r.pause(r.between(low, high)); i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// either returns the first of two times in a short run, else the second.
func (r *run) either(short, long time.Duration) time.Duration {
	if r.short {
		return short
	}
	return long
}

// within returns a context that ends after d.
func (r *run) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, d)
}
