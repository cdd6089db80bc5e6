package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// stops stops workers for a while, the one that leads two times of three, and ends
// some in order. Those that go on keep their sessions.
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
	stopped, leaders, ended := 0, 0, 0
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
		away := r.between(longest/10, longest)
		if err := f.stopFor(w, leads, away); err != nil {
			return err
		}
		stopped++
		if leads {
			leaders++
		}
	}
	if !r.short {
		if err := f.stoppedLeader(); err != nil {
			return err
		}
	}
	cancel()
	wait()
	r.figure("%d stopped (%d leaders) for up to %s", stopped, leaders, longest)
	r.figure("%d ended in order", ended)
	return f.audit()
}

// stopFor stops a worker, and continues it. The sessions of others wait for a leader.
func (f *fleet) stopFor(w *worker, leads bool, away time.Duration) error {
	if err := w.signal(stopSignal); err != nil {
		return err
	}
	f.pause(away)
	if leads && away > storeMargin {
		f.excuse(nil, "failed")
	}
	return w.signal(continueSignal)
}

// stoppedLeader checks what a command says while the leader is stopped.
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
	f.excuse(nil, "failed")
	return w.signal(continueSignal)
}
