package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/session/store"
)

// deletion says which sessions to delete, besides those that are named.
type deletion struct{ archived, expired bool }

func (p *program) sessionsDeleteCommand() *cobra.Command {
	var what deletion
	cmd := &cobra.Command{
		Use:   "delete SESSION…",
		Short: "Delete sessions and all that is stored of them",
		Long: `Deletes each SESSION (an id, or the start of one) with its subagents: records, messages,
events and approvals. One that has not ended is refused; stop its worker first.

With --archived it deletes the sessions that ended longer ago than --archive-after,
with --expired those that --retain-age and --retain-size do not keep.`,
		Example: `  worker sessions delete ses_4f2k
  worker sessions delete --archived --archive-after 24h`,
		ValidArgsFunction: p.completeSessions(true),
		Args: usage.Args(func(_ *cobra.Command, args []string) error {
			if (len(args) > 0) == (what.archived || what.expired) {
				return errors.New("give either sessions, or --archived or --expired")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.deleteSessions(cmd.Context(), args, what)
		},
	}
	cmd.Flags().BoolVar(&what.archived, "archived", false, "delete all archived sessions")
	cmd.Flags().BoolVar(&what.expired, "expired", false, "delete what is not kept any longer")
	return cmd
}

func (p *program) deleteSessions(ctx context.Context, ids []string, what deletion) (err error) {
	s, err := p.openStorage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.recover(ctx); err != nil { // what was killed can be deleted
		return err
	}
	deleted := 0
	defer func() { fmt.Fprintf(p.stderr, "deleted: %d\n", deleted) }()
	for _, id := range ids {
		r, err := s.records.Get(ctx, id)
		if err != nil {
			return err
		}
		n, err := s.records.Delete(ctx, r.ID)
		deleted += n
		if err != nil {
			return err
		}
	}
	for _, keep := range p.unkept(what) {
		n, err := s.records.Expire(ctx, keep, time.Now())
		deleted += n
		if err != nil {
			return err
		}
	}
	return nil
}

// unkept is what is to be kept after a deletion.
func (p *program) unkept(what deletion) []store.Retention {
	var keep []store.Retention
	if what.archived {
		keep = append(keep, store.Retention{Age: p.settings.ArchiveAfter})
	}
	if what.expired {
		keep = append(keep, p.settings.Retained())
	}
	return keep
}
