package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Times of a check.
const (
	editTime = 2 * time.Second // how long an edit waits
	lateTime = time.Minute     // how long a check goes on when nobody waits
)

// Bounds of checks.
const (
	maxJobs = 50 // that wait
	maxLate = 3  // reports that are kept
)

// edit is a file that a call has changed.
type edit struct {
	path          string
	before, after *string // nil means there was, or is, no such file, or that its text is not known
}

// job is a check of changed files.
type job struct {
	edits []edit
	done  chan report // has room for one
	alone bool        // nobody waits for it any more; guarded by the client
}

// check has the server look at changed files. waits says that somebody waits for the answer, and wait
// that it is worth it.
func (c *client) check(edits []edit, waits bool) (j *job, wait bool) {
	j = &job{edits: edits, done: make(chan report, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		j.done <- report{err: errEnded}
		return j, true
	case len(c.jobs) >= maxJobs:
		j.done <- report{err: fmt.Errorf("it still works on %d earlier changes", maxJobs)}
		return j, true
	}
	wait = waits && c.overdue == 0
	if !wait {
		j.alone = true
		c.overdue++
	}
	c.jobs = append(c.jobs, j)
	if len(c.jobs) == 1 {
		c.work.Go(c.workOff)
	}
	return j, wait
}

// leave notes that nobody waits for a check any more.
func (c *client) leave(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !j.alone && slices.Contains(c.jobs, j) {
		j.alone = true
		c.overdue++
	}
}

// workOff makes the checks that wait.
func (c *client) workOff() {
	for {
		c.mu.Lock()
		j := c.jobs[0]
		c.mu.Unlock()
		ctx, cancel := context.WithTimeoutCause(context.Background(), lateTime, errSlow(c.server.Name, lateTime))
		r := c.look(ctx, j.edits)
		cancel()
		c.mu.Lock()
		j.done <- r
		if j.alone {
			c.overdue--
			if r.err == nil {
				c.late = append(c.late[max(0, len(c.late)-maxLate+1):], r)
			}
		}
		c.jobs = c.jobs[1:]
		more := len(c.jobs) > 0
		c.mu.Unlock()
		if !more {
			return
		}
	}
}

// lateReports returns the reports that nobody has waited for, once.
func (c *client) lateReports() []report {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := c.late
	c.late = nil
	return late
}

// look has the server look at files before and after their change.
func (c *client) look(ctx context.Context, edits []edit) report {
	r := report{server: c.server.Name}
	if r.err = c.lock(ctx); r.err != nil {
		return r
	}
	defer c.unlock()
	before := map[string][]diagnostic{}
	for _, e := range edits {
		if e.before == nil || e.after == nil {
			continue
		}
		if r.err = c.set(ctx, e.path, *e.before); r.err != nil {
			return r
		}
		found, err := c.diagnose(ctx, e.path)
		if err != nil {
			r.err = err
			return r
		}
		before[e.path] = found
	}
	elsewhere := c.errorsElsewhere(edits)
	for _, e := range edits {
		if e.after == nil {
			r.err = c.removed(ctx, e.path)
		} else {
			r.err = c.set(ctx, e.path, *e.after)
		}
		if r.err != nil {
			return r
		}
	}
	for _, e := range edits {
		if e.after == nil {
			continue
		}
		now, err := c.diagnose(ctx, e.path)
		if err != nil {
			r.err = errors.Join(r.err, err)
			return r
		}
		f := fileReport{path: e.path}
		_, f.compared = before[e.path]
		f.compared = f.compared || e.before == nil
		f.found, f.kept, f.gone = compare(before[e.path], now)
		r.files = append(r.files, f)
	}
	c.quiet(ctx)
	r.files = append(r.files, compareElsewhere(elsewhere, c.errorsElsewhere(edits))...)
	return r
}

// quiet waits until the server has published nothing for a moment: what it says of other files comes
// by itself.
func (c *client) quiet(ctx context.Context) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		c.mu.Lock()
		news, err := c.news, c.err
		c.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case <-news:
			timer.Reset(settle)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
