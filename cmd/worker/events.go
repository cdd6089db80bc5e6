package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

func (p *program) eventsCommand() *cobra.Command {
	var from uint64
	var asJSON, fresh, stored bool
	cmd := &cobra.Command{
		Use:   "events SESSION|workspace",
		Short: "Show a session's stream, its subagents' events included",
		Long: `Shows the events of SESSION (an id, or the start of one), those of its subagents in
subagent_event envelopes. A session that has ended is replayed from disk; one that
runs, in whatever process, is followed to its end.

"workspace" is the stream of the workspace itself, which never ends: what becomes of its
agents. With --stored what is stored is shown, and nothing waited for.

Exit status: 0 behind the session_end, whether it was shown or comes before --from; 1 if
events of the session are gone, deleted by age or lost by damage, if the store is lost, or
if the session's process was killed and no other worker runs; 130 interrupted.`,
		Example: `  worker events ses_4f2k --json
  worker events ses_4f2k --from 120    # the last one seen was 119
  worker events ses_4f2k --new         # the questions that wait, and what comes
  worker events workspace`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case fresh && from > 0:
				return cli.Usage(errors.New("--new and --from can't be used together"))
			case fresh && stored:
				return cli.Usage(errors.New("--new and --stored can't be used together"))
			}
			return p.events(cmd.Context(), args[0], &eventbus.FollowOptions{From: from, Live: !stored}, fresh, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&from, "from", 0, "begin with this sequence number (0: the first)")
	cmd.Flags().BoolVar(&fresh, "new", false, "begin now: with the approvals that wait, then what comes")
	cmd.Flags().BoolVar(&stored, "stored", false, "end with what is stored, and wait for nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON, with seq and time")
	return cmd
}

// errNoEnd is why a stream can't be shown to its end.
var errNoEnd = errors.New("its session_end is not stored")

// errAbandoned is why a stream has no end yet.
var errAbandoned = errors.New("its process was killed, and no worker runs that would end it: the next one does, and so does 'worker sessions stop'")

// ownerInterval is how often a follower of a session checks that its process runs.
const ownerInterval = 5 * time.Second

func (p *program) events(ctx context.Context, id string, opts *eventbus.FollowOptions, fresh, asJSON bool) (err error) {
	s, err := p.OpenStorage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	show := func(d eventbus.Delivery) error { return app.PrintEvent(p.JSONOut(), d) }
	if !asJSON {
		shown := progress.New(p.Stdout, terminal.Output{}, nil)
		show = func(d eventbus.Delivery) error { shown.Show(d, d.Time); return nil }
	}
	if id == event.WorkspaceStream {
		if fresh {
			return showNew(ctx, s, &record.Record{Path: event.WorkspacePath()}, show)
		}
		return app.Follow(ctx, s.Bus, event.WorkspacePath(), opts, show)
	}
	record, err := s.Records.Index.Get(ctx, id)
	switch {
	case err != nil:
		return app.Meant(ctx, s.Records, err)
	case fresh && record.Status.Ended():
		return nil // nothing will come
	case fresh:
		return showNew(ctx, s, record, show)
	case opts.Live:
		err = showToEnd(ctx, s, record, opts.From, show)
	default:
		err = app.Follow(ctx, s.Bus, record.Path, opts, show)
	}
	over := opts.Live || record.Status.Ended() // else its first events may not be stored yet
	if over && (err == nil || errors.Is(err, errNoEnd)) {
		missing, lookErr := s.Records.Integrity.Incomplete(ctx, record)
		if err = errors.Join(err, lookErr); missing != nil {
			err = missing
		}
	}
	if err != nil {
		return fmt.Errorf("the stream of session %s: %w", record.ID, err)
	}
	return nil
}

// showNew shows the questions that wait, and then new events.
func showNew(ctx context.Context, s *app.Storage, r *record.Record, show func(eventbus.Delivery) error) error {
	if r.ID != "" {
		var end func()
		ctx, end = whileOwned(ctx, s, r.ID)
		defer end()
	}
	_, stream, err := s.Records.Approvals.FollowNew(ctx, r.Path)
	if err != nil {
		return err
	}
	for d, err := range stream {
		if err != nil {
			return err
		}
		if err := show(d); err != nil {
			return err
		}
	}
	return nil
}

// showToEnd shows the events of a session from a sequence number on. It returns nil only
// after the session_end, whether that is shown or comes before the number. While the
// session runs it waits for that.
func showToEnd(ctx context.Context, s *app.Storage, record *record.Record, from uint64, show func(eventbus.Delivery) error) error {
	newest, err := s.Bus.Newest(ctx) // before the end is looked for: one that is stored later comes behind
	if err != nil {
		return err
	}
	rest, err := s.Records.Integrity.Remaining(ctx, record, from)
	if err != nil || !rest.More {
		return err
	}
	noEnd := errNoEnd
	if rest.Live && !record.Status.Ended() {
		killed, err := abandoned(ctx, s, record)
		if err != nil {
			return err
		}
		if killed {
			rest.Live, noEnd = false, errAbandoned
		}
	}
	if rest.Live {
		var end func()
		ctx, end = whileOwned(ctx, s, record.ID)
		defer end()
	}
	if !rest.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, rest.Until, errNoEnd)
		defer cancel()
	}
	ended := false
	opts := &eventbus.FollowOptions{From: from, Live: rest.Live}
	if rest.Live {
		opts.From = min(from, newest+1)
	}
	err = app.Follow(ctx, s.Bus, record.Path, opts, func(d eventbus.Delivery) error {
		ended = ended || d.Ends()
		if d.Seq < from {
			return nil
		}
		return show(d)
	})
	switch {
	case err == nil && !ended:
		err = noEnd
	case errors.Is(err, errAbandoned):
		err = errAbandoned
	}
	return err
}

// abandoned reports whether the process of a session was killed, and no other runs that
// would end it.
func abandoned(ctx context.Context, s *app.Storage, r *record.Record) (bool, error) {
	return s.Records.Leases.Abandoned(ctx, cmp.Or(r.EndedBy, r.BootID))
}

// whileOwned returns a context that ends with [errAbandoned] once no process runs that
// would end the session, or with [record.ErrNotFound] once it was deleted. The caller calls
// end, which waits for the goroutine that checks.
func whileOwned(ctx context.Context, s *app.Storage, id string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(ownerInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			r, err := s.Records.Index.Get(ctx, id)
			switch {
			case errors.Is(err, record.ErrNotFound):
				cancel(err)
			case err != nil || r.Status.Ended():
			default:
				if killed, err := abandoned(ctx, s, r); killed && err == nil {
					cancel(errAbandoned)
				}
			}
		}
	})
	return ctx, func() { cancel(nil); looking.Wait() }
}
