package run

import (
	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/report"
)

// taskApprover is [commands.approver] for a task. In a pipeline nobody is asked, nor
// waited for.
func (p commands) taskApprover(opts runOptions) gate.Approver {
	if opts.ci.Enabled() && !opts.yes {
		p.Settings.ApprovalTimeout = 0
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
	if opts.ci.Enabled() {
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
