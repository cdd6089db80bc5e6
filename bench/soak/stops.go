package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// stops stops workers for a while, with and without a warning, the one that leads two
// times of three, and ends some in order. Those that go on keep their sessions.
func stops(r *run) error {
	if stopSignal == continueSignal {
		return notRun("this system stops no processes")
	}
	f, err := r.newFleet(shape{words: 15, pause: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := f.startAll(3); err != nil {
		return err
	}
	longest := r.either(2*time.Second, 15*time.Second)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	wait := f.callers(ctx, 3)
	stopped, leaders, suspended, ended := 0, 0, 0, 0
	for i := range r.rounds(2, 200*time.Millisecond, time.Second) {
		w, leads := f.victim()
		if r.random.IntN(3) == 0 || i == 1 { // each at least once
			if err := f.end(w); err != nil {
				return err
			}
			ended++
			if _, err := f.start(); err != nil {
				return err
			}
			continue
		}
		how := stopSignal
		if r.random.IntN(2) == 0 {
			how = suspendSignal
		}
		if err := f.stopFor(w, how, r.between(longest/10, longest)); err != nil {
			return err
		}
		switch {
		case how == suspendSignal:
			suspended++
		case leads:
			leaders++
			fallthrough
		default:
			stopped++
		}
	}
	if !r.short {
		if err := f.stoppedLeader(); err != nil {
			return err
		}
	}
	cancel()
	wait()
	r.figure("%d stopped (%d leaders) and %d suspended for up to %s", stopped, leaders, suspended, longest)
	r.figure("%d ended in order", ended)
	return f.audit()
}

// stopFor stops a worker, and continues it. If it leads and has no time to hand the store
// over, the sessions of all others wait.
func (f *fleet) stopFor(w *worker, how syscall.Signal, away time.Duration) error {
	if err := w.signal(how); err != nil {
		return err
	}
	f.pause(away)
	return w.signal(continueSignal)
}

// stoppedLeader checks what a command says while the leader is stopped, and that it works
// while one is that could hand the store over.
func (f *fleet) stoppedLeader() error {
	w := f.leader()
	if w == nil {
		return fmt.Errorf("no worker leads")
	}
	if err := w.signal(stopSignal); err != nil {
		return err
	}
	_, _, err := f.output("sessions", "list")
	hint := fmt.Sprintf("kill -CONT %d", w.cmd.Process.Pid)
	if err == nil || !strings.Contains(err.Error(), hint) {
		f.broke("a command while the leader is stopped: %v, want %q in it", err, hint)
	}
	if err := errors.Join(w.signal(continueSignal), w.signal(suspendSignal)); err != nil {
		return err
	}
	if _, _, err := f.output("sessions", "list"); err != nil {
		f.broke("a command while the process that led is suspended: %v", err)
	}
	return w.signal(continueSignal)
}
