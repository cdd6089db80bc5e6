package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
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
agents. With --stored what is stored is shown, and nothing waited for.`,
		Example: `  worker events ses_4f2k --json
  worker events ses_4f2k --from 120    # the last one seen was 119
  worker events ses_4f2k --new         # the questions that wait, and what comes
  worker events workspace`,
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case fresh && from > 0:
				return usageError{errors.New("--new and --from can't be used together")}
			case fresh && stored:
				return usageError{errors.New("--new and --stored can't be used together")}
			}
			return p.events(cmd.Context(), args[0], eventbus.FollowOptions{From: from, Live: !stored}, fresh, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&from, "from", 0, "begin with this sequence number (0: the first)")
	cmd.Flags().BoolVar(&fresh, "new", false, "begin now: with the approvals that wait, then what comes")
	cmd.Flags().BoolVar(&stored, "stored", false, "end with what is stored, and wait for nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON, with seq and time")
	return cmd
}

func (p *program) events(ctx context.Context, id string, opts eventbus.FollowOptions, fresh, asJSON bool) (err error) {
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	path := event.WorkspacePath()
	if id != event.WorkspaceStream {
		record, err := s.records.Get(ctx, id)
		if err != nil {
			return meant(ctx, s.records, err)
		}
		path, opts.Live = record.Path, opts.Live && !record.Status.Ended()
	}
	show := func(d eventbus.Delivery) error { return printEvent(p.stdout, d) }
	if !asJSON {
		progress := newProgress(p.stdout, nil)
		show = func(d eventbus.Delivery) error { progress.show(d, d.Time); return nil }
	}
	switch {
	case !fresh:
		return follow(ctx, s.bus, path, opts, show)
	case !opts.Live:
		return nil // nothing will come
	}
	_, stream, err := s.records.FollowNew(ctx, path)
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
