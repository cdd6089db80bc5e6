package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/report"
)

// runOptions are the flags of the commands that run an agent.
type runOptions struct {
	json   bool
	events bool
	yes    bool
	raw    bool

	ci ci.Options
}

func (o *runOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as one JSON document")
	cmd.Flags().BoolVar(&o.events, "events", false, "print each event of the stream as a line of JSON, the result last")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "print the answer as it is on a terminal, too, and not as formatted Markdown")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "answer yes to what the permission rules ask; what they deny stays denied")
}

func (o *runOptions) check() error {
	if o.json && o.events {
		return cli.Usage(errors.New("--json and --events can't be used together: --events prints the same document, last"))
	}
	return nil
}

// readPrompt returns the prompt of the command line, "-" being stdin's text.
func (p commands) readPrompt(ctx context.Context, arg string) (string, error) {
	prompt := arg
	if arg == "-" {
		var err error
		if prompt, err = p.ReadStdin(ctx); err != nil {
			return "", fmt.Errorf("reading the prompt from stdin: %w", err)
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return "", cli.Usage(errors.New("the prompt is empty"))
	}
	return prompt, nil
}

// printResult writes the result to stdout: text, or the document as JSON. At a terminal the
// answer, which is Markdown, is formatted; it is empty if there is none.
func (p commands) printResult(doc any, text, answer string, opts runOptions) error {
	switch {
	case opts.json || opts.events:
		return p.PrintJSON(doc, opts.json)
	case answer != "" && p.OutTerm.Redraws && !opts.raw:
		text = tui.RenderMarkdown(answer, p.OutTerm)
	case text == "":
		return nil
	case p.OutTerm.IsTerminal():
		text = termtext.Printable(text)
	}
	_, err := fmt.Fprintln(p.Stdout, text)
	return err
}

// endedBy returns the status and the reason of a task that ended without a result. If ctx
// has ended, for example by a signal, that is the reason, whatever err is.
func endedBy(ctx context.Context, err error) (record.Status, error) {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return record.Failed, err
	case errors.Is(cause, context.Canceled):
		return record.Cancelled, fmt.Errorf("the task was cancelled: %w", cause)
	}
	return record.Cancelled, err
}

// taskApprover is [commands.approver] for a task. In a pipeline nobody is asked, nor
// waited for.
func (p commands) taskApprover(opts runOptions) approval.Approver {
	if opts.ci.On && !opts.yes {
		p.Settings.ApprovalTimeout, p.Pipeline = 0, true
		return nil
	}
	return p.approver(opts.yes)
}

// withDenials is the document of a task in a pipeline.
type withDenials struct {
	taskt.Document
	Denials []ci.Denial `json:"denials"`
}

// printTask writes the result of a task to stdout.
func (p commands) printTask(result *taskt.Result, refused []progress.Refusal, opts runOptions) error {
	doc := result.Document()
	if opts.ci.On {
		return p.printResult(withDenials{doc, denials(refused)}, result.XML(), result.Answer(), opts)
	}
	return p.printResult(doc, result.XML(), result.Answer(), opts)
}

func denials(refused []progress.Refusal) []ci.Denial {
	all := []ci.Denial{} // in JSON: a list, if an empty one
	for _, r := range refused {
		all = append(all, ci.Denial{
			Agent: r.Agent, SessionID: r.SessionID, ToolCallID: r.Call.ToolCallID, Tool: r.Call.ToolName,
			Arguments: r.Call.Arguments, Reason: r.Why, Rule: r.Rule,
		})
	}
	return all
}

// writeReport writes what a pipeline wants to know of a task.
func (p commands) writeReport(result *taskt.Result, refused []progress.Refusal, status cli.Status, to *ci.Options) error {
	if !to.Reports() {
		return nil
	}
	r := &ci.Report{Document: result.Document(), Denials: denials(refused), Status: status}
	if ws, err := p.Workspace(); err == nil { // without one there is no place
		r.Findings = report.Findings(ws.Root, r.Document.Text)
	}
	return to.Write(p.Stderr, r)
}
