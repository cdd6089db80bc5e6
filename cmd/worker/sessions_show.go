package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

func (p *program) sessionsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show SESSION",
		Short:             "Show a session's record and messages",
		Long:              "Shows the record and the messages of SESSION: an id, or the start of one.",
		Args:              usage.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				return p.showSession(ctx, sessions, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print record and messages as one JSON document")
	return cmd
}

func (p *program) showSession(ctx context.Context, sessions *store.Store, id string, asJSON bool) error {
	r, messages, err := conversation(ctx, sessions, id)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(struct {
			*store.Record
			Messages []*store.Message `json:"messages"`
		}{r, append([]*store.Message{}, messages...)}, true)
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
		{"tokens", fmt.Sprintf("%d in, %d out, %d cached", r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CacheReadTokens)},
		{"cost", r.Usage.ShowCost()},
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
		fmt.Fprintf(p.stdout, "\n%s", termtext.Printable(store.Transcript(m)))
	}
	return nil
}
