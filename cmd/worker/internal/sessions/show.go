package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/transcript"
	"github.com/agentworker/worker/taskt/report"
)

func (p commands) showCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show SESSION",
		Short:             "Show a session's record and messages",
		Long:              "Shows the record and the messages of SESSION: an id, or the start of one.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				return p.showSession(ctx, sessions, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print record and messages as one JSON document")
	return cmd
}

func (p commands) showSession(ctx context.Context, sessions *store.Store, id string, asJSON bool) error {
	r, messages, err := app.Conversation(ctx, sessions, id)
	if err != nil {
		return err
	}
	if asJSON {
		return p.PrintJSON(struct {
			*record.Record
			Messages []*log.Message `json:"messages"`
		}{r, append([]*log.Message{}, messages...)}, true)
	}
	var running []log.Command // in its background
	if !r.Status.Ended() {
		state, err := sessions.Index.State(ctx, r.Path)
		if err != nil {
			return err
		}
		running = state.Commands
	}
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"id", r.ID},
		{"status", event.SessionEnd{Status: r.Status, StopReason: r.StopReason}.Words()},
		{"paused", showPause(r.Pause)},
		{"error", r.Error},
		{"agent", r.Agent},
		{"model", r.Model},
		{"description", r.Description},
		{"role", r.Role},
		{"parent", r.ParentID},
		{"policy", r.Policy},
		{"steps", fmt.Sprint(r.Steps)},
		{"tokens", fmt.Sprintf("%d in, %d out, %d cached", r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CacheReadTokens)},
		{"cost", r.Usage.ShowCost()},
		{"in all", totalLine(r)},
		{"todo", todoLine(r.Todo)},
		{"commands", commandsLine(running)},
		{"tools", workLine(&r.Work)},
		{"changed", changedLine(&r.Work)},
		{"checks", checksLine(&r.Work)},
		{"created", r.CreatedAt.Local().Format(time.DateTime)},
		{"time", r.Duration(time.Now()).Round(time.Millisecond).String()},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], termtext.OneLine(row[1], termtext.MaxText))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Status == record.Completed && len(messages) > 0 {
		answer := messages[len(messages)-1].Text
		p.PrintNotes(report.Notes(report.Parse(answer), &r.Work))
	}
	for _, m := range messages {
		fmt.Fprintf(p.Stdout, "\n%s", termtext.Printable(transcript.Text(m)))
	}
	return nil
}

// commandsLine lists the commands that go on in a session's background. It is empty if there are none.
func commandsLine(all []log.Command) string {
	var parts []string
	for _, c := range all {
		state := cmp.Or(c.Line, "nothing written")
		switch {
		case c.Lost:
			state = "lost with its worker"
		case c.Waits:
			state = "waits for input: " + c.Line
		}
		parts = append(parts, fmt.Sprintf("%s (%s): %s", c.CommandID, c.Command, state))
	}
	return strings.Join(parts, "; ")
}

func todoLine(p *record.Progress) string {
	if p == nil {
		return ""
	}
	return p.String()
}

// workLine says what a session has done; empty means nothing.
func workLine(w *record.Work) string {
	if w.ToolCalls == 0 {
		return ""
	}
	line := termtext.Plural(w.ToolCalls, "call")
	if w.Failed > w.Denied {
		line += fmt.Sprintf(", %d failed", w.Failed-w.Denied)
	}
	if w.Denied > 0 {
		line += fmt.Sprintf(", %d denied", w.Denied)
	}
	return line
}

// changedLine lists the files that a session is known to have changed. It is empty
// if there are none.
func changedLine(w *record.Work) string {
	var parts []string
	for _, f := range w.Files {
		parts = append(parts, f.Path)
	}
	if w.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("and %d more changes", w.Omitted))
	}
	if w.Untold > 0 {
		parts = append(parts, fmt.Sprintf("(what %s changed is not known)", termtext.Plural(w.Untold, "command")))
	}
	return strings.Join(parts, " ")
}

// checksLine says how the checks of a session ended; empty means there were none.
func checksLine(w *record.Work) string {
	var parts []string
	for _, c := range w.Checks {
		outcome := "failed"
		if c.OK {
			outcome = "ok"
		}
		parts = append(parts, fmt.Sprintf("%s: %s", cmp.Or(c.Path, c.Command), outcome))
	}
	return strings.Join(parts, "; ")
}

// showPause says why a session waits, and until when; empty means it does not.
func showPause(p *record.Pause) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("until %s: %s", p.Until.Local().Format(time.DateTime), p.Reason)
}

func (p commands) summaryCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "summary SESSION",
		Short: "Say in a few sentences what a session has done",
		Long: `Has the agent summary say in a few sentences what SESSION (an id, or the start of one) was
about, in one call of a model: that of the alias small, if there is one, else the default.
What that costs is printed on stderr. Nothing of it is stored.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			a, err := p.OpenWorker(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			r, err := a.Records.Index.Get(ctx, args[0])
			if err != nil {
				return app.Meant(ctx, a.Records, err)
			}
			summary, err := a.Tasks.Summarise(ctx, r.ID)
			if err != nil {
				return err
			}
			if asJSON {
				return p.PrintJSON(summary, true)
			}
			fmt.Fprintln(p.Stdout, termtext.Printable(summary.Text))
			used := summary.Usage
			fmt.Fprintf(p.Stderr, "by %s; tokens: %d; cost: %s\n", summary.Model, used.InputTokens+used.OutputTokens, used.ShowCost())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary, its model and what it has used as JSON")
	return cmd
}

// totalLine says what a tree of several sessions has used.
func totalLine(r *record.Record) string {
	t := r.Total
	if t == nil || t.Sessions < 2 && r.Agent != "" || t.Sessions == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d in, %d out, %s", termtext.Plural(t.Sessions, "session"), t.Usage.InputTokens, t.Usage.OutputTokens, t.Usage.ShowCost())
}
