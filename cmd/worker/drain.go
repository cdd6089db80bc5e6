package main

import (
	"context"
	"fmt"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
)

// registerDrain registers the flag --drain of a command that serves.
func registerDrain(flags *pflag.FlagSet, limit *time.Duration, byDefault time.Duration) {
	flags.DurationVar(limit, "drain", byDefault, "after a signal, how long calls that run may take to end, 0 to 1h")
}

// checkDrain returns an error if a value of --drain is out of bounds.
func checkDrain(limit time.Duration) error {
	if limit < 0 || limit > time.Hour {
		return cli.Usage(fmt.Errorf("--drain %s: it is between 0 and 1h", limit))
	}
	return nil
}

// drained returns a context for the doors of a worker. It ends once ctx has ended, and the calls
// that ran then have ended or were handed over: limit is as in [drain]. shut ends it at any
// time, and returns when nothing drains.
func drained(ctx context.Context, p *program, a *app.Worker, limit time.Duration) (doors context.Context, shut func()) {
	doors, end := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		defer end()
		select {
		case <-ctx.Done():
			drain(p, a, limit)
		case <-doors.Done():
		}
	})
	return doors, func() {
		end()
		watch.Wait()
	}
}

// drain ends the calls that run, or hands them over, in so long at most. A second signal to the
// program ends the time.
func drain(p *program, a *app.Worker, limit time.Duration) {
	a.Tasks.Refuse()
	if n := a.Tasks.Load().Running; n > 0 && limit > time.Second { // no person waits for less
		ends := "ends it at once"
		if p.Patient.Load() {
			ends = "ends the wait"
		}
		fmt.Fprintf(p.Stderr, "worker: %s: waiting for up to %s (a second signal %s)\n", termtext.Plural(n, "running subagent"), errtext.Duration(limit), ends)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	app.HandOver(ctx, p.Program, a)
}
