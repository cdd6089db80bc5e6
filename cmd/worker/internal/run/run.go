// Package run has the commands that run an agent and print its answer: 'worker task',
// 'worker run' and 'worker sessions resume'.
package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/conversation"
)

// commands are the commands that run an agent.
type commands struct{ *app.Program }

// Run returns 'worker run'.
func Run(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts runOptions
	var agent string
	var talk talkOptions
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Run a primary agent that may itself call task",
		Long: `Runs a primary agent with PROMPT ("-": read from stdin) and prints its answer on
stdout. It is offered the task tool, and its subagents run side by side.

With -i it is a conversation on the terminal, which begins with PROMPT if there is one:
answers come as they are written, subagents are shown while they run, and what rules ask
is asked there. /help lists its commands. It is one session: --resume goes on with it.`,
		Example: `  worker run "Compare how the two parsers report errors"
  worker run -i --agent build
  worker run -i --resume ses_4f2k`,
		Args:              talk.args,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if talk.interactive {
				talk.note(cmd.Flags())
				return p.talk(cmd.Context(), agent, strings.Join(args, ""), talk, opts)
			}
			prompt, err := p.readPrompt(cmd.Context(), args[0])
			if err := cmp.Or(opts.check(), err); err != nil {
				return err
			}
			return p.runPrimary(cmd.Context(), agent, prompt, opts)
		},
	}
	opts.register(cmd)
	talk.register(cmd)
	cli.CompleteFlag(cmd, "resume", p.CompleteSessions(false))
	cmd.Flags().StringVar(&agent, "agent", "", "an agent of mode primary or all (default: a general one)")
	cli.CompleteFlag(cmd, "agent", p.CompleteAgents(func(d *agentdefs.Definition) bool { return d.Mode != agentdefs.Subagent }))
	return cmd
}

// runPrimary runs a primary agent. Whatever goes wrong, --json and --events print a
// document about it.
func (p commands) runPrimary(ctx context.Context, name, prompt string, opts runOptions) error {
	doc, refused, err := p.prompt(ctx, name, prompt, opts)
	if doc == nil {
		doc = &taskt.Document{Type: "run_error", Agent: cmp.Or(name, conversation.Default.Name)}
		doc.Status, err = endedBy(ctx, err)
		doc.Error = errtext.Of(err)
	}
	said := doc.Text
	if said != "" {
		said = strings.Join(append(slices.Clone(doc.Earlier), said), "\n\n")
	}
	if err := p.printResult(*doc, said, said, opts); err != nil {
		return err
	}
	progress.WriteRefusals(p.Stderr, p.ErrTerm, refused)
	p.PrintNotes(doc.Notes)
	switch {
	case err == nil:
		return nil
	case opts.json || opts.events:
		p.ComplainOnce(err)
	default: // stdout has only the answer, and there is none
		p.Complain(err)
	}
	switch {
	case ctx.Err() != nil && doc.Error != "":
		return cli.Interrupted
	case cli.IsUsage(err):
		return cli.WrongUse
	case errors.As(err, new(*budget.ExceededError)):
		return cli.OverBudget
	}
	return failed(err)
}

// prompt opens the session of a primary agent, prompts it, and returns the
// result, together with what went wrong; nil means there is no session.
func (p commands) prompt(ctx context.Context, name, prompt string, opts runOptions) (_ *taskt.Document, refused []progress.Refusal, err error) {
	if err := p.Models().Check(); err != nil {
		return nil, nil, err
	}
	a, err := p.OpenWorker(ctx, p.approver(opts.yes))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, app.Leave(p.Program, a)) }()
	def, err := conversation.Find(a.Agents.Snapshot(), name)
	p.ReportAgent(a.Agents.Snapshot(), def, name)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	if _, err := p.model(def.Model); err != nil {
		return nil, nil, err
	}
	root, err := a.Tasks.OpenConversation(ctx, def, taskt.Conversation{Description: conversation.FirstWords(prompt), AskedBy: record.Owner})
	if err != nil {
		return nil, nil, err
	}
	watching := p.watch(ctx, a.Bus, root.Path(), opts)
	titled := a.Tasks.Entitle(ctx, root, prompt)
	outcome := root.Prompt(ctx, prompt)
	a.Tasks.NoteEvidence(root, &outcome)
	titled()
	if err := errors.Join(root.End(outcome.Status, outcome.Err), watching.wait()); err != nil {
		p.Complain(err) // the answer is there all the same
	}
	record := root.Record()
	result := &taskt.Result{
		Agent: def.Name, SessionID: record.ID, Status: outcome.Status, Text: outcome.Text, Earlier: outcome.Earlier, Err: outcome.Err,
		Record: record, Duration: record.Duration(record.EndedAt),
	}
	doc := result.Document()
	doc.Type, doc.Result = "run_result", ""
	if outcome.Err != nil {
		doc.Type, doc.Error = "run_error", errtext.Of(outcome.Err)
	}
	return &doc, watching.refused(), outcome.Err
}
