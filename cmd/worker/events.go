package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
)

func (p *program) eventsCommand() *cobra.Command {
	var from uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events SESSION|workspace",
		Short: "Show a session's stream, its subagents' events included",
		Long: `Shows the events of SESSION (an id, or the start of one), those of its subagents in
subagent_event envelopes. A session that has ended is replayed from disk; one that
runs, in whatever process, is followed to its end.

"workspace" is the stream of the workspace itself: what has become of its agents.`,
		Example: `  worker events ses_4f2k --json
  worker events ses_4f2k --from 120    # the last one seen was 119
  worker events workspace`,
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.events(cmd.Context(), args[0], from, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&from, "from", 0, "begin with this sequence number (0: the first)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON, with seq and time")
	return cmd
}

func (p *program) events(ctx context.Context, id string, from uint64, asJSON bool) (err error) {
	s, err := p.openView(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	path, live, err := s.stream(ctx, id)
	if err != nil {
		return err
	}
	show := func(d eventbus.Delivery) error { return printEvent(p.stdout, d) }
	if !asJSON {
		progress := newProgress(p.stdout, false)
		show = func(d eventbus.Delivery) error { progress.show(d); return nil }
	}
	return follow(ctx, s.bus, path, eventbus.FollowOptions{From: from, Live: live}, show)
}

// stream returns the path of a session, or of the workspace, and whether events
// may still come.
func (s *store) stream(ctx context.Context, id string) (path eventbus.Path, live bool, err error) {
	if id == eventbus.WorkspaceStream {
		return eventbus.WorkspacePath(), !s.bus.Embedded(), nil // with our own store nobody else publishes
	}
	sessions, err := session.OpenStore(ctx, s.bus)
	if err != nil {
		return nil, false, err
	}
	record, err := sessions.Get(ctx, id)
	if err != nil {
		return nil, false, err
	}
	return record.Path, !record.Status.Ended(), nil
}
