package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/presence"
	"github.com/agentworker/worker/session/transcript"
)

func (p *program) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch the sessions of this workspace, and answer them",
		Long: `Shows the sessions of this workspace as a tree, live, in whatever process they run:
first those that need somebody (approvals, questions, stalled, over budget, paused),
then those that run, then those that have ended within --archive-after. Keys open a
session's log, send it a line, stop it, and answer its approvals: ? lists them.

It needs a terminal. Elsewhere 'worker sessions list' and 'worker events' say the same.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.NeedScreen("worker top", "'worker sessions list' prints the sessions"); err != nil {
				return err
			}
			return p.OnScreen(func() error {
				return p.WithStorage(cmd.Context(), func(s *app.Storage) error { return p.top(cmd.Context(), s) })
			})
		},
	}
}

func (p *program) top(ctx context.Context, s *app.Storage) error {
	if err := s.Recover(ctx); err != nil {
		return err
	}
	leave, err := presence.NewDoor(s.Bus).Enter("worker top")
	if err != nil {
		return err
	}
	defer leave()
	feed := tui.Feed{Bus: s.Bus, Store: s.Records, Keep: p.Settings.ArchiveAfter}
	model := tui.NewTop(ctx, s.Workspace.ID, &topActions{s}, p.OutTerm, time.Now)
	return tui.Run(ctx, model, feed.Run, p.Environ)
}

// topActions are what the keys of 'worker top' do.
type topActions struct{ *app.Storage }

var _ tui.Actions = (*topActions)(nil)

// Log implements [tui.Actions].
func (t *topActions) Log(ctx context.Context, id string) (string, error) {
	r, messages, err := app.Conversation(ctx, t.Records, id)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "session %s, %s\n", r.ID, r.Status)
	for _, m := range messages {
		b.WriteString(transcript.Text(m))
	}
	return b.String(), nil
}

// Send implements [tui.Actions].
func (t *topActions) Send(ctx context.Context, id, text string) (string, error) {
	if _, err := app.Control(ctx, t.Records, "worker top", "task_send", []string{id}, map[string]any{"message": text}); err != nil {
		return "", err
	}
	return "sent: its model reads it before its next step", nil
}

// Stop implements [tui.Actions].
func (t *topActions) Stop(ctx context.Context, id string) (string, error) {
	return t.Storage.Stop(ctx, "worker top", id)
}

// Background implements [tui.Actions].
func (t *topActions) Background(ctx context.Context, id string) (string, error) {
	if _, err := app.Control(ctx, t.Records, "worker top", "task_background", []string{id}, nil); err != nil {
		return "", err
	}
	return "it runs in the background; its caller goes on", nil
}

// MoveCommand implements [tui.Actions].
func (t *topActions) MoveCommand(ctx context.Context, id string) (string, error) {
	return t.Storage.MoveCommand(ctx, "worker top", id)
}

// StopCommand implements [tui.Actions].
func (t *topActions) StopCommand(ctx context.Context, id, command string) (string, error) {
	if _, err := t.Records.Requests.StopCommand(ctx, id, command, app.Operator("worker top")); err != nil {
		return "", err
	}
	return command + " is stopped", nil
}

// Answer implements [tui.Actions].
func (t *topActions) Answer(ctx context.Context, id string, answer approval.Answer) (string, error) {
	answer.By = app.Operator("worker top")
	return t.Storage.Answer(ctx, id, answer)
}
