package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/conversation"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
)

// Task returns 'worker task'.
func Task(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts runOptions
	var checks checkFlags
	var cleanup string
	var attach attachFlag
	cmd := &cobra.Command{
		Use:   "task AGENT PROMPT",
		Short: "Run one subagent and print its <task_result>",
		Long: `Runs AGENT as a subagent with PROMPT ("-": read from stdin), shows what it does on
stderr, and prints its <task_result>, or a <task_error>, on stdout. On a terminal that is
the answer alone, as formatted Markdown, unless --raw is given.

With --ci nobody is asked, as in a pipeline that sets CI=true: what the rules ask is
denied, and the task has failed if a call of it was denied. --json lists these calls as
denials, each with the rule that would allow it. In GitHub Actions the places
(path:line) that the answer names are annotations.

Exit status: 0 done, 1 the task failed, 2 wrong use, 3 refused by permission (with --ci
also: a call of it was denied), 4 over budget, 5 out of time, 6 a check failed,
7 stopped at its step limit (with --ci), 130 interrupted.`,
		Example: `  worker task explore "Where is the configuration loaded?"
  worker task explore --json "List the HTTP handlers" | jq -r .text
  worker task explore --attach shot.png "Which page is this?"
  worker task reviewer --ci --junit review.xml "Review the last commit"`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: p.CompleteAgents(func(d *agentdefs.Definition) bool { return d.Mode != agentdefs.Primary }),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := p.readPrompt(cmd.Context(), args[1])
			if err := cmp.Or(opts.check(), err); err != nil {
				return err
			}
			in := taskt.Input{Description: conversation.FirstWords(prompt), Prompt: prompt, AgentType: args[0], Background: new(bool), Checks: checks.all(), Cleanup: cleanup}
			if in.Attachments, err = attach.read(); err != nil {
				return cli.Usage(err)
			}
			if err := cmp.Or(agentdefs.CheckAll(in.Checks), input.CheckCleanup(cleanup)); err != nil {
				return cli.Usage(err)
			}
			if err := opts.ci.Complete(p.Getenv, opts.yes); err != nil {
				return err
			}
			return p.task(cmd.Context(), in.AgentType, opts, func(a *app.Worker) (*oneTask, error) { return p.newTask(a, in) })
		},
	}
	opts.register(cmd)
	checks.register(cmd)
	attach.register(cmd)
	opts.ci.Register(cmd)
	cmd.Flags().StringVar(&cleanup, "cleanup", "keep", "what becomes of the subagent's session after that: keep, or delete")
	return cmd
}

// oneTask is a task that a command runs.
type oneTask struct {
	caller string // for people
	run    func(ctx context.Context, root *session.Session) *taskt.Result
}

// model returns the model that an agent's file names. If that is not available it returns
// the default; the session warns of it.
func (p commands) model(name string) (model.Model, error) {
	m, err := p.Models().Get(name)
	if err != nil {
		if stands, none := p.Models().Get(""); none == nil {
			return stands, nil
		}
	}
	return m, err
}

// newTask returns the task that an agent does.
func (p commands) newTask(a *app.Worker, in taskt.Input) (*oneTask, error) {
	def, err := a.Tasks.Find(in.AgentType)
	p.ReportAgent(a.Agents.Snapshot(), def, in.AgentType)
	if err != nil {
		return nil, err
	}
	if _, err := p.model(def.Model); err != nil {
		return nil, err
	}
	return &oneTask{"worker task " + in.AgentType, func(ctx context.Context, root *session.Session) *taskt.Result {
		return a.Tasks.Call(ctx, root, in)
	}}, nil
}

// task runs one task of an agent in a root session of its own. Whatever goes wrong, stdout
// gets an element about it.
func (p commands) task(ctx context.Context, agent string, opts runOptions, find func(*app.Worker) (*oneTask, error)) error {
	result, refused, err := p.callTask(ctx, opts, find)
	if result == nil {
		result = &taskt.Result{Agent: agent}
		result.Status, result.Err = endedBy(ctx, err)
		result.Text, err = errtext.Of(result.Err), nil
	} else if err != nil { // the answer is there; what went wrong besides is said
		p.Complain(err)
	}
	status := taskStatus(ctx, result)
	if status == cli.Done || status == cli.Failed {
		status = opts.ci.Status(status, len(refused) > 0, result.StopReason(), err)
	}
	if err := p.printTask(result, refused, opts); err != nil {
		return err
	}
	progress.WriteRefusals(p.Stderr, p.ErrTerm, refused)
	_, notes := result.Assess()
	p.PrintNotes(notes)
	if result.Err != nil {
		p.ComplainOnce(result.Err)
	}
	if err := p.writeReport(result, refused, status, &opts.ci); err != nil {
		p.Complain(err)
		status = cmp.Or(status, cli.Failed)
	}
	if status == cli.Done {
		return nil
	}
	return status
}

// taskStatus is the exit status of a result.
func taskStatus(ctx context.Context, result *taskt.Result) cli.Status {
	switch {
	case result.Err == nil:
		return cli.Done
	case ctx.Err() != nil:
		return cli.Interrupted
	case errors.As(result.Err, new(*offer.UnknownAgentError)), cli.IsUsage(result.Err):
		return cli.WrongUse
	case result.Refused:
		return cli.Refused
	case errors.As(result.Err, new(*budget.ExceededError)):
		return cli.OverBudget
	case result.Status == record.TimedOut:
		return cli.OutOfTime
	default:
		return failed(result.Err)
	}
}

// failed is the status of a task that has failed with an error.
func failed(err error) cli.Status {
	if _, unchecked := errors.AsType[*session.ChecksError](err); unchecked {
		return cli.CheckFailed
	}
	return cli.Failed
}

// checkFlags are the checks of a call.
type checkFlags struct{ commands, paths []string }

func (f *checkFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.commands, "check", nil, "a command that must succeed before the answer is accepted; may be repeated")
	cmd.Flags().StringArrayVar(&f.paths, "check-path", nil, "a path that must exist before the answer is accepted; may be repeated")
}

func (f *checkFlags) all() []agentdefs.Check {
	var all []agentdefs.Check
	for _, path := range f.paths {
		all = append(all, agentdefs.Check{Path: path})
	}
	for _, command := range f.commands {
		all = append(all, agentdefs.Check{Command: command})
	}
	return all
}

func (p commands) callTask(ctx context.Context, opts runOptions, find func(*app.Worker) (*oneTask, error)) (_ *taskt.Result, refused []progress.Refusal, err error) {
	if err := p.Models().Check(); err != nil {
		return nil, nil, err
	}
	a, err := p.OpenWorker(ctx, p.taskApprover(opts))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, app.Leave(p.Program, a)) }()
	task, err := find(a)
	if err != nil {
		return nil, nil, err
	}
	root, err := a.Tasks.OpenCaller(ctx, task.caller, record.Owner)
	if err != nil {
		return nil, nil, err
	}
	watching := p.watch(ctx, a.Bus, root.Path(), opts)
	result := task.run(ctx, root)
	if err := root.End(result.Status, result.Err); err != nil {
		p.Complain(err)
	}
	err = watching.wait()
	return result, watching.refused(), err
}
