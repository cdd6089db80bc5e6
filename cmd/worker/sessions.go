package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
)

func (p *program) sessionsCommand() *cobra.Command {
	return group("sessions", "Look at the sessions of this workspace, stop and delete them",
		p.sessionsListCommand(), p.sessionsShowCommand(), p.sessionsLogCommand(), p.sessionsStopCommand(), p.sessionsDeleteCommand())
}

func (p *program) sessionsListCommand() *cobra.Command {
	var asJSON, all, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the newest first",
		Long: `Lists the sessions that run and those that have ended lately, the newest first. What
ended longer ago than --archive-after is archived, and listed with --all.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *session.Store) error {
				return p.listSessions(ctx, sessions, all, asJSON, wide)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the records as a JSON array")
	cmd.Flags().BoolVar(&all, "all", false, "list archived sessions too")
	registerWide(cmd, &wide)
	return cmd
}

func (p *program) sessionsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show SESSION",
		Short:             "Show a session's record and messages",
		Long:              "Shows the record and the messages of SESSION: an id, or the start of one.",
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *session.Store) error {
				return p.showSession(ctx, sessions, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print record and messages as one JSON document")
	return cmd
}

func (p *program) withSessions(ctx context.Context, f func(context.Context, *session.Store) error) (err error) {
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return meant(ctx, s.records, f(ctx, s.records))
}

// listed is a record as the list shows it.
type listed struct {
	*session.Record
	Archived bool `json:"archived"`
}

func (p *program) listSessions(ctx context.Context, sessions *session.Store, all, asJSON, wide bool) error {
	records, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	shown := []listed{}
	for _, r := range records {
		if archived := r.Archived(p.settings.ArchiveAfter, now); all || !archived {
			shown = append(shown, listed{r, archived})
		}
	}
	if asJSON {
		return p.printJSON(shown, true)
	}
	hidden := len(records) - len(shown)
	switch {
	case len(records) == 0:
		fmt.Fprintln(p.stderr, "no sessions yet: try worker task explore \"…\"")
		return nil
	case hidden > 0:
		defer fmt.Fprintf(p.stderr, "%d archived, see them with --all\n", hidden)
	}
	if len(shown) == 0 {
		return nil
	}
	t := &table{
		header: []string{"ID", "STATUS", "AGENT", "PARENT", "STEPS", "TOKENS", "STARTED", "TIME", "DESCRIPTION"},
		drop:   []string{"TOKENS", "STEPS", "PARENT", "TIME", "STARTED"},
		colors: func(row []string) color { return statusColor(row[1]) },
	}
	for _, r := range shown {
		t.add(r.ID, string(r.Status), dash(r.Agent), dash(r.ParentID), strconv.Itoa(r.Steps),
			strconv.FormatInt(r.Usage.InputTokens+r.Usage.OutputTokens, 10), r.CreatedAt.Local().Format(time.DateTime),
			r.Duration(now).Round(time.Millisecond).String(), termtext.OneLine(r.Description, 60))
	}
	return p.printTable(t, wide)
}

func (p *program) showSession(ctx context.Context, sessions *session.Store, id string, asJSON bool) error {
	r, err := sessions.Get(ctx, id)
	if err != nil {
		return err
	}
	messages, err := sessions.Messages(ctx, r.ID)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(struct {
			*session.Record
			Messages []*session.Message `json:"messages"`
		}{r, append([]*session.Message{}, messages...)}, true)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", r.ID},
		{"status", string(r.Status)},
		{"error", r.Error},
		{"agent", r.Agent},
		{"model", r.Model},
		{"description", r.Description},
		{"parent", r.ParentID},
		{"steps", fmt.Sprint(r.Steps)},
		{"tokens", fmt.Sprintf("%d in, %d out", r.Usage.InputTokens, r.Usage.OutputTokens)},
		{"created", r.CreatedAt.Local().Format(time.DateTime)},
		{"time", r.Duration(time.Now()).Round(time.Millisecond).String()},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], termtext.OneLine(row[1], 2000))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range messages {
		fmt.Fprintf(p.stdout, "\n%s", termtext.Printable(session.Transcript(m)))
	}
	return nil
}

func dash(s string) string { return cmp.Or(s, "-") }
