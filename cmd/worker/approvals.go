package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
	"github.com/agentworker/worker/session/store"
)

func (p *program) approvalsCommand() *cobra.Command {
	cmd := cli.Group("approvals", "Answer the tool calls and questions that wait", p.approvalsListCommand(), p.approvalsShowCommand(), p.approvalsApproveCommand(), approvalsAnswerCommand(p), p.approvalsDenyCommand())
	cmd.Long = `A tool call that the permission rules ask about waits until somebody answers, on the
terminal it was asked on or here, or until it expires. The first answer counts. What
takes a second person by the policy is approved by nobody who has asked for the work.
What an agent itself asks (the tool ask_user) waits in the same way.`
	return cmd
}

func (p *program) approvalsListCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait, the oldest first",
		Long: `Lists the calls that wait for approval, the oldest first. What does not print is shown
as an escape. 'worker approvals show' shows all of a call, and --json its arguments.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				pending, err := sessions.Approvals.Pending(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return p.PrintJSON(append([]*approval.Approval{}, pending...), true)
				}
				return p.listApprovals(ctx, pending, wide)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the approvals as a JSON array")
	app.RegisterWide(cmd, &wide)
	return cmd
}

func (p *program) approvalsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show APPROVAL",
		Short: "Show all of a call that waits",
		Long: `Shows all of the call APPROVAL, an id or the start of one: what it would do, with the whole
text or the difference to the file as it is, the rule that asks, who has asked for the
work, and the rules that --always would add. What does not print is shown as an escape.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteApprovals(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				a, err := sessions.Approvals.Get(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return p.PrintJSON(a, true)
				}
				tui.WriteQuestion(p.Stdout, a, question.Whole, 0)
				if !a.Pending() {
					fmt.Fprintf(p.Stdout, "  it was %s\n", a.Outcome)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the approval as JSON")
	return cmd
}

func (p *program) approvalsApproveCommand() *cobra.Command {
	var always bool
	cmd := &cobra.Command{
		Use:   "approve APPROVAL",
		Short: "Let a call through",
		Long: `Lets the call APPROVAL through: an id, or the start of one. With --always calls like it
are allowed from now on: the rules that 'worker approvals show' shows are added to
permissions.jsonc.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteApprovals(),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := approval.Answer{Verdict: approval.ApproveOnce}
			if always {
				answer.Verdict = approval.ApproveAlways
			}
			return p.answerApproval(cmd.Context(), args[0], answer)
		},
	}
	cmd.Flags().BoolVar(&always, "always", false, "allow calls like it from now on")
	return cmd
}

func approvalsAnswerCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "answer QUESTION ANSWER...",
		Short: "Answer a question of an agent",
		Long: `Answers QUESTION, an id or the start of one. ANSWER is an option, or its number; several of
them where several may be chosen; or a text, where there are no options. Without an answer
that fits, the question waits on. 'worker approvals deny' declines to answer.

The answer goes to the agent's model: give no password and no key.`,
		Example: `  worker approvals answer qst_7k2n 2
  worker approvals answer qst_7k2n the staging cluster`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: p.CompleteApprovals(),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := approval.Answer{Verdict: approval.AnswerAsk, Answers: args[1:]}
			err := p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				a, err := sessions.Approvals.Get(ctx, args[0])
				if err == nil && a.Ask != nil {
					answer.Answers, err = readAnswers(a.Ask, args[1:])
				}
				return err
			})
			if err != nil {
				return err
			}
			return p.answerApproval(cmd.Context(), args[0], answer)
		},
	}
}

// readAnswers reads the arguments that answer a question.
func readAnswers(ask *event.Ask, args []string) ([]string, error) {
	if line := strings.Join(args, " "); len(args) == 1 || len(ask.Options) == 0 || slices.Contains(ask.Options, line) {
		return question.ReadAnswer(ask, line)
	}
	return question.ReadAnswers(ask, args)
}

func (p *program) approvalsDenyCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "deny APPROVAL [REASON]",
		Short:             "Refuse a call, or an answer; the model is told the reason",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.CompleteApprovals(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.answerApproval(cmd.Context(), args[0], approval.Answer{Feedback: strings.TrimSpace(strings.Join(args[1:], " "))})
		},
	}
}

func (p *program) listApprovals(ctx context.Context, pending []*approval.Approval, wide bool) error {
	if len(pending) == 0 {
		ws, err := p.Workspace()
		if err != nil {
			return err
		}
		where := "state folder " + ws.StateDir
		if p.Settings.NATS != "" {
			where = "on the NATS server"
		}
		fmt.Fprintf(p.Stderr, "no call waits for approval in the workspace %s (%s)\n", ws.ID, termtext.OneLine(where, termtext.MaxText))
		for _, other := range app.WaitsElsewhere(ctx, p.Program, ws) {
			fmt.Fprintf(p.Stderr, "in %s something of this repository waits: worker approvals list --workspace %s --state-dir %s\n", termtext.OneLine(other.StateDir, termtext.MaxText), other.ID, termtext.OneLine(other.StateDir, termtext.MaxText))
		}
		return nil
	}
	t := &terminal.Table{
		Header: []string{"ID", "AGENT", "ASKS TO", "TOOL", "EXPIRES IN", "SESSION"},
		Drop:   []string{"SESSION", "EXPIRES IN"},
	}
	for _, a := range pending {
		v := question.New(a, question.Whole)
		t.Add(a.ID, v.Who, a.Question.Summary(), v.Tool, max(0, time.Until(a.ExpiresAt)).Round(time.Second).String(), a.SessionID)
	}
	if err := p.PrintTable(t, wide); err != nil {
		return err
	}
	for _, a := range pending {
		if a.SecondPerson != nil {
			fmt.Fprintf(p.Stderr, "%s: %s\n", a.ID, a.SecondPerson.Text())
		}
	}
	return nil
}

func (p *program) answerApproval(ctx context.Context, id string, answer approval.Answer) error {
	answer.By = app.Operator("worker approvals")
	return p.WithStorage(ctx, func(s *app.Storage) error {
		done, err := s.Answer(ctx, id, answer)
		if err == nil {
			fmt.Fprintln(p.Stderr, done)
		}
		return err
	})
}
