package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/report"
)

// Report is the report of a task for a pipeline.
type Report struct {
	Document taskt.Document
	Denials  []Denial
	Findings []report.Finding // places that the answer names
	Status   cli.Status
}

// Denial is a tool call that was refused.
type Denial struct {
	Agent      string `json:"agent,omitempty"` // empty means the task call itself
	SessionID  string `json:"sessionId,omitempty"`
	ToolCallID string `json:"toolCallId"`
	Tool       string `json:"toolName"`
	Arguments  string `json:"arguments"`      // as the model wrote them
	Reason     string `json:"reason"`         // as the model was told
	Rule       string `json:"rule,omitempty"` // would have allowed it in the file of rules; empty means none would
}

// Summary is the call in a few words.
func (d Denial) Summary() string {
	return event.ToolCallStart{ToolName: d.Tool, Arguments: d.Arguments}.Summary()
}

// words say what an exit status means.
var words = map[cli.Status]string{
	cli.Done: "done", cli.Failed: "failed", cli.WrongUse: "wrong use", cli.Refused: "a call was denied",
	cli.OverBudget: "over budget", cli.OutOfTime: "out of time", cli.CheckFailed: "a check failed", cli.OutOfSteps: "stopped at its step limit", cli.Interrupted: "interrupted",
}

// suite is the report as JUnit has it: the task, its checks, and the calls that were refused.
func (r *Report) suite() Suite {
	doc := &r.Document
	s := Suite{Name: "worker task " + doc.Agent}
	task := Case{Class: doc.Agent, Name: "task", Took: doc.Took(), Output: doc.Text}
	if r.Status != cli.Done {
		task.Failure = words[r.Status]
		if doc.Error != "" {
			task.Failure += ": " + doc.Error
		}
	}
	s.Cases = append(s.Cases, task)
	for _, c := range doc.Work.Checks {
		made := Case{Class: doc.Agent, Name: "check " + termtext.OneLine(c.Path+c.Command, termtext.MaxLabel)}
		if !c.OK {
			made.Failure = "failed: " + c.Output
		}
		s.Cases = append(s.Cases, made)
	}
	for _, d := range r.Denials {
		s.Cases = append(s.Cases, Case{Class: doc.Agent, Name: "call " + d.Summary(), Failure: d.Reason})
	}
	return s
}

// mostAnnotations is how many annotations of a level GitHub shows of a step.
const mostAnnotations = 10

// annotate writes an annotation for each place that the answer names.
func (r *Report) annotate(w io.Writer) error {
	written := make(map[string]int)
	for _, f := range r.Findings {
		level := "warning"
		if f.Severe {
			level = "error"
		}
		if written[level]++; written[level] > mostAnnotations {
			continue
		}
		at := Location{File: f.Path, Line: f.Line}
		if _, err := fmt.Fprintln(Raw(w), Annotation(level, at, r.Document.Agent, f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// maxAnswer bounds the answer in a summary, in bytes: GitHub takes 1 MiB of a step.
const maxAnswer = 64 << 10

// Markdown is the summary of the task. A model's text is in code, where Markdown means
// nothing.
func (r *Report) Markdown() string {
	var b strings.Builder
	doc := &r.Document
	fmt.Fprintf(&b, "## worker task %s: %s\n\n", termtext.Code(doc.Agent), words[r.Status])
	for _, row := range [][2]string{
		{"session", doc.SessionID},
		{"model", doc.Model},
		{"took", fmt.Sprintf("%.1f s, %s", doc.Took().Seconds(), termtext.Plural(doc.Steps, "step"))},
		{"tokens", fmt.Sprintf("%d in, %d out", doc.Usage.InputTokens, doc.Usage.OutputTokens)},
		{"cost", dollars(model.Usage(doc.Usage))},
		{"in all", inAll(doc.Total)},
		{"error", doc.Error},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", row[0], termtext.Code(row[1]))
		}
	}
	list(&b, termtext.Plural(len(r.Denials), "denied call"), r.Denials, func(d Denial) string {
		if d.Rule == "" {
			return termtext.Code(d.Summary()) + ": " + termtext.Code(d.Reason)
		}
		return termtext.Code(d.Summary()) + ", allowed by " + termtext.Code(d.Rule)
	})
	list(&b, "Checks", doc.Work.Checks, func(c event.Check) string {
		if c.OK {
			return termtext.Code(c.Path+c.Command) + ": ok"
		}
		return termtext.Code(c.Path+c.Command) + ": failed"
	})
	list(&b, "Changed files", doc.Work.Files, func(f event.FileChange) string { return termtext.Code(f.Path) })
	list(&b, "Places", r.Findings, func(f report.Finding) string {
		return termtext.Code(fmt.Sprintf("%s:%d", f.Path, f.Line)) + " " + termtext.Code(f.Text)
	})
	list(&b, "Notes", doc.Notes, termtext.Code)
	if doc.Text != "" {
		text := termtext.Printable(termtext.CutBytes(doc.Text, maxAnswer))
		fmt.Fprintf(&b, "\n### Answer\n\n%s", termtext.Fenced("text", text))
	}
	return b.String() + "\n"
}

func dollars(u model.Usage) string {
	if u.Cost == "" {
		return ""
	}
	return "$" + u.Cost.String()
}

// inAll says what the agent and its subagents have used.
func inAll(t *record.Total) string {
	if t == nil || t.Sessions < 2 {
		return ""
	}
	return fmt.Sprintf("%s, %d tokens in, %d out, %s", termtext.Plural(t.Sessions, "session"), t.Usage.InputTokens, t.Usage.OutputTokens, t.Usage.ShowCost())
}

// mostListed bounds a list of a summary.
const mostListed = 50

// list writes a list under a heading, if there is anything in it.
func list[T any](b *strings.Builder, heading string, items []T, say func(T) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", heading)
	for _, item := range items[:min(len(items), mostListed)] {
		fmt.Fprintf(b, "- %s\n", say(item))
	}
	if more := len(items) - mostListed; more > 0 {
		fmt.Fprintf(b, "- and %d more\n", more)
	}
}
