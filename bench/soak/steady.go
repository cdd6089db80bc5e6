package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of the long form: how much more the last third of the windows may cost
// than the first third. The first window does not count.
const (
	maxCPUGrowth = 1.25
	maxRSSGrowth = 1.25
	rssSlack     = 32 << 20 // bytes

	// rssOfSession is how many bytes a session that is kept may add: a store with 100,000 has
	// 150 MB more than an empty one at most, which bench/soak/history checks.
	rssOfSession = 1500
)

// sessionsOfTask is how many sessions a task leaves: the caller's, the lead's and those of
// two scouts.
const sessionsOfTask = 4

// window is a part of the time.
type window struct {
	tasks int
	cpu   time.Duration // for a task
	rss   int64         // at most
}

// steady makes calls without a pause. All is kept.
func steady(r *run) error {
	f, err := r.newFleet(shape{words: 5, pause: time.Millisecond})
	if err != nil {
		return err
	}
	if err := f.withoutPause(sessionsOfTask); err != nil {
		return err
	}
	return f.audit()
}

// withoutPause makes calls without a pause, in one worker, and looks at what a task costs
// as time goes by. Of each task so many sessions are kept.
func (f *fleet) withoutPause(kept int) error {
	w, err := f.start()
	if err != nil {
		return err
	}
	if _, err := usageOf(w.cmd.Process.Pid); err != nil {
		return notRun("what a process uses is not known here: " + err.Error())
	}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var done atomic.Int64
	var calling sync.WaitGroup
	for i := range 2 {
		calling.Go(func() {
			random := rand.New(rand.NewPCG(f.seed, uint64(i)))
			for ctx.Err() == nil {
				f.call(w, random)
				done.Add(1)
			}
		})
	}
	const parts = 10
	part := f.duration / parts
	var windows []window
	before, err := usageOf(w.cmd.Process.Pid)
	tasks, peak, began := int64(0), int64(0), time.Now()
	for err == nil && len(windows) < parts && f.pause(min(part, time.Second)) {
		var now usage
		if now, err = usageOf(w.cmd.Process.Pid); err != nil {
			break
		}
		peak = max(peak, now.rss)
		if time.Since(began) < part {
			continue
		}
		n := done.Load()
		if n == tasks {
			return fmt.Errorf("no task was done within %s", part)
		}
		windows = append(windows, window{int(n - tasks), (now.cpu - before.cpu) / time.Duration(n-tasks), peak})
		before, tasks, peak, began = now, n, 0, began.Add(part)
	}
	cancel()
	calling.Wait()
	f.following.Wait()
	if err != nil {
		return err
	}
	f.steadyFigures(windows, kept)
	return nil
}

func (r *run) steadyFigures(windows []window, kept int) {
	var cpu, rss []string
	tasks := 0
	for _, w := range windows {
		tasks += w.tasks
		cpu = append(cpu, fmt.Sprintf("%.1f", w.cpu.Seconds()*1000))
		rss = append(rss, fmt.Sprint(w.rss>>20))
	}
	r.figure("%d tasks", tasks)
	r.figure("CPU of a task %s ms", strings.Join(cpu, " "))
	r.figure("RSS %s MiB", strings.Join(rss, " "))
	third := (len(windows) - 1) / 3
	if r.short || third == 0 {
		return
	}
	first, last := average(windows[1:1+third]), average(windows[len(windows)-third:])
	if float64(last.cpu) > maxCPUGrowth*float64(first.cpu) {
		r.broke("a task took %s at first and %s at last: more than %.2f times as much", first.cpu, last.cpu, maxCPUGrowth)
	}
	more := 0 // sessions, from the middle of the first third to that of the last
	for _, w := range windows[1+third:] {
		more += kept * w.tasks
	}
	slack := int64(rssSlack + more*rssOfSession)
	if float64(last.rss) > maxRSSGrowth*float64(first.rss)+float64(slack) {
		r.broke("%d MiB are resident at first, %d at last, with %d sessions more: more than %.2f times as much and %d", first.rss>>20, last.rss>>20, more, maxRSSGrowth, slack>>20)
	}
}

// average is that of some windows; its cpu is for a task.
func average(windows []window) (a window) {
	for _, w := range windows {
		a.tasks += w.tasks
		a.cpu += w.cpu * time.Duration(w.tasks)
		a.rss += w.rss / int64(len(windows))
	}
	a.cpu /= time.Duration(a.tasks)
	return a
}
