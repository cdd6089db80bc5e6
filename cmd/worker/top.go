package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/top"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
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
		Args: usage.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.needScreen("worker top", "'worker sessions list' prints the sessions"); err != nil {
				return err
			}
			return p.onScreen(func() error {
				return p.withStorage(cmd.Context(), func(s *storage) error { return p.top(cmd.Context(), s) })
			})
		},
	}
}

func (p *program) top(ctx context.Context, s *storage) error {
	if err := s.recover(ctx); err != nil {
		return err
	}
	feed := top.Feed{Bus: s.bus, Store: s.records, Keep: p.settings.ArchiveAfter}
	model := top.New(ctx, s.ws.ID, &topActions{s}, p.outTerm, time.Now)
	return terminal.Run(ctx, model, feed.Run, tea.WithEnvironment(p.environ))
}

// topActions are what the keys of 'worker top' do.
type topActions struct{ *storage }

var _ top.Actions = (*topActions)(nil)

// Log implements [top.Actions].
func (t *topActions) Log(ctx context.Context, id string) (string, error) {
	r, messages, err := conversation(ctx, t.records, id)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "session %s, %s\n", r.ID, r.Status)
	for _, m := range messages {
		b.WriteString(store.Transcript(m))
	}
	return b.String(), nil
}

// Send implements [top.Actions].
func (t *topActions) Send(ctx context.Context, id, text string) (string, error) {
	if _, err := controlBy(ctx, t.records, "worker top", "task_send", []string{id}, map[string]any{"message": text}); err != nil {
		return "", err
	}
	return "sent: its model reads it before its next step", nil
}

// Stop implements [top.Actions].
func (t *topActions) Stop(ctx context.Context, id string) (string, error) {
	return t.stop(ctx, "worker top", id)
}

// stop stops a session by a command of a name, and says how it has ended.
func (s *storage) stop(ctx context.Context, command, id string) (string, error) {
	answer, err := controlBy(ctx, s.records, command, "task_stop", []string{id}, nil)
	if err != nil {
		return "", err
	}
	var said []string
	for _, s := range answer.(*control.Stopped).Sessions {
		said = append(said, fmt.Sprintf("%s is %s", s.SessionID, s.Status))
	}
	return strings.Join(said, ", "), nil
}

// Background implements [top.Actions].
func (t *topActions) Background(ctx context.Context, id string) (string, error) {
	if _, err := controlBy(ctx, t.records, "worker top", "task_background", []string{id}, nil); err != nil {
		return "", err
	}
	return "it runs in the background; its caller goes on", nil
}

// Answer implements [top.Actions].
func (t *topActions) Answer(ctx context.Context, id string, answer store.Answer) (string, error) {
	answer.By = operator("worker top")
	return t.answer(ctx, id, answer)
}

// needScreen is an error of use where the program has no terminal that it could draw
// on and read keys from. instead says what there is without one.
func (p *program) needScreen(command, instead string) error {
	if p.stdinTTY && p.outTerm.IsTerminal() && p.outTerm.Redraws {
		return nil
	}
	why := "stdin and stdout are not both one"
	if p.stdinTTY && p.outTerm.IsTerminal() {
		why = "TERM says that this one can't be drawn on"
	}
	return exit.Usage(errors.New(command + " needs a terminal, and " + why + ": " + instead))
}
