package control

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/report"
)

// Result is the outcome of a task.
type Result struct {
	Agent     string
	SessionID string // the child's; empty if no session was opened
	Status    store.Status
	Text      string // the answer, or what went wrong
	Err       error  // nil: the task has completed
	Refused   bool   // the gate did not let the call through
	Record    store.Record
	Duration  time.Duration
}

// Fail makes err the outcome. Where no session was opened, the end of ctx is a
// cancelled call.
func (r *Result) Fail(ctx context.Context, err error) {
	r.Err, r.Text = err, errtext.Of(err)
	if ctx.Err() != nil && r.SessionID == "" {
		r.Status = store.Cancelled
	}
	var unaccepted *session.UnacceptedError
	if errors.As(err, &unaccepted) {
		r.Text += "\n\nThe last answer:\n" + unaccepted.Answer
	}
}

// Accepted is the status of a result whose subagent runs in the background.
const Accepted store.Status = "accepted"

// XML returns the result as the caller's model reads it: a <task_result>,
// <task_error> or <task_accepted> element with the text between its lines.
func (r *Result) XML() string {
	element := "task_result"
	switch {
	case r.Err != nil:
		element = "task_error"
	case r.Status == Accepted:
		element = "task_accepted"
	}
	text := r.Text
	if line := r.worktreeLine(); line != "" {
		text = strings.TrimRight(text, "\n") + "\n\n" + line
	}
	return XML(element, r.Agent, text)
}

// Assess returns the answer in sections, nil where it is no report, and what does not
// hold of it.
func (r *Result) Assess() (*report.Report, []string) {
	if r.Err != nil || r.Status == Accepted {
		return nil, nil
	}
	rep := report.Parse(r.Text)
	return rep, report.Notes(rep, &r.Record.Work)
}

// Told is the result as the model that has called the agent reads it: the element,
// and behind it what does not hold of the answer. Nothing that a subagent says stands
// there. A host's model is not told that no tool was called: that is what a host may
// have asked for.
func (r *Result) Told() string { return r.XML() + r.noted() }

func (r *Result) noted() string {
	_, notes := r.Assess()
	if len(notes) > 0 && notes[0] == report.NoCall && !r.byAgent() {
		notes = notes[1:]
	}
	if len(notes) == 0 {
		return ""
	}
	return "\n[worker: " + clean(strings.Join(notes, "; ")) + "]"
}

// byAgent reports whether the model of one of our agents has made the call.
func (r *Result) byAgent() bool {
	at := len(r.Record.Path) - 2
	return at >= 0 && r.Record.Path[at].AgentType != ""
}

// worktreeLine says where the changes of a task are; empty: in the workspace.
func (r *Result) worktreeLine() string {
	w := r.Record.Worktree
	switch {
	case w == nil:
		return ""
	case w.Removed:
		return "[worktree: no files changed]"
	case w.Diffstat == "":
		return fmt.Sprintf("[worktree: branch %s in %s]", w.Branch, w.Path)
	default:
		return fmt.Sprintf("[worktree: %s, on branch %s in %s; 'worker sessions apply %s' brings it to the workspace]", w.Diffstat, w.Branch, w.Path, r.SessionID)
	}
}

// XML writes a result element. The text stays as it is, but for a tag of ours
// in it, whose "<" becomes "&lt;": no answer can end the element early or
// pretend to be another one.
func XML(element, agent, text string) string {
	return "<" + element + ` agent="` + attribute.Replace(termtext.CutBytes(agent, maxAgentName)) + "\">\n" +
		clean(strings.TrimRight(text, "\n")) + "\n</" + element + ">"
}

// ourTags matches the start of an opening or closing tag of ours, as leniently
// as a reader might: all of them begin with "task_".
var ourTags = regexp.MustCompile(`(?i)<([^\pL<>]*task_)`)

// clean returns a text in which no tag of ours is one.
func clean(text string) string { return ourTags.ReplaceAllString(text, "&lt;$1") }

// maxAgentName bounds what is shown of an agent's name, in bytes: a call may name
// anything.
const maxAgentName = 100

var attribute = strings.NewReplacer(
	"&", "&amp;", `"`, "&quot;", "'", "&apos;", "<", "&lt;", ">", "&gt;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;",
)
