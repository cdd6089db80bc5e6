package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/session/retention"
)

// deletion selects sessions to delete that are not named.
type deletion struct{ archived, expired bool }

func (p commands) deleteCommand() *cobra.Command {
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
		ValidArgsFunction: p.CompleteSessions(true),
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) > 0) == (what.archived || what.expired) {
				return errors.New("give either sessions, or --archived or --expired")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithStorage(cmd.Context(), func(s *app.Storage) error {
				return p.deleteSessions(cmd.Context(), s, args, what)
			})
		},
	}
	cmd.Flags().BoolVar(&what.archived, "archived", false, "delete all archived sessions")
	cmd.Flags().BoolVar(&what.expired, "expired", false, "delete what is not kept any longer")
	return cmd
}

func (p commands) deleteSessions(ctx context.Context, s *app.Storage, ids []string, what deletion) error {
	if err := s.Recover(ctx); err != nil { // what was killed can be deleted
		return err
	}
	deleted := 0
	defer func() { fmt.Fprintf(p.Stderr, "deleted: %d\n", deleted) }()
	for _, id := range ids {
		r, err := s.Records.Index.Get(ctx, id)
		if err != nil {
			return err
		}
		n, err := s.Records.Retention.Delete(ctx, r.ID)
		deleted += n
		if err != nil {
			return err
		}
		if err := removeSnapshots(p, r.ID); err != nil {
			return err
		}
	}
	for _, keep := range p.kept(what) {
		n, err := s.Records.Retention.Expire(ctx, keep, time.Now())
		deleted += n
		if err != nil {
			return err
		}
	}
	return nil
}

// kept are the rules of what remains after a deletion.
func (p commands) kept(what deletion) []retention.Limits {
	var keep []retention.Limits
	if what.archived {
		keep = append(keep, retention.Limits{Age: p.Settings.ArchiveAfter})
	}
	if what.expired {
		keep = append(keep, p.Settings.Retained())
	}
	return keep
}
