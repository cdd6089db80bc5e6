package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// kills kills workers at random points of their tasks, the one that leads two times
// of three, and starts others; some tasks are processes of their own, which are
// killed too. At the end all workers are killed at once.
func kills(r *run) error {
	f, err := r.newFleet(shape{words: 15, pause: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := f.startAll(3); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	wait := f.callers(ctx, 3)
	var tasks sync.WaitGroup
	processes, killedProcesses := 0, 0
	tasks.Go(func() {
		random := rand.New(rand.NewPCG(r.seed, hash("processes")))
		for ctx.Err() == nil {
			killAt := -1
			if random.IntN(4) > 0 {
				killAt = random.IntN(80)
			}
			killed, err := f.process(killAt, time.Duration(random.IntN(3000))*time.Microsecond)
			if err != nil {
				r.broke("%v", err)
			}
			processes++
			if killed {
				killedProcesses++
			}
		}
	})
	killed, leaders := 0, 0
	for range r.rounds(1, 100*time.Millisecond, 1200*time.Millisecond) {
		w, leads := f.victim()
		if err := f.kill(w); err != nil {
			return err
		}
		killed++
		if leads {
			leaders++
		}
		if _, err := f.start(); err != nil {
			return err
		}
	}
	stop()
	for _, w := range f.up() {
		if err := f.kill(w); err != nil {
			return err
		}
		killed++
	}
	if err := f.startAll(2); err != nil { // who both look for sessions to end
		return err
	}
	wait()
	tasks.Wait()
	r.figure("%d of %d kills of a leader", leaders, killed)
	r.figure("%d of %d task processes killed", killedProcesses, processes)
	return f.audit()
}
