package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/report"
)

// Result is the outcome of a task.
type Result struct {
	Agent     string
	SessionID string // the child's; empty if no session was opened
	Status    record.Status
	Text      string   // the answer, or what went wrong
	Earlier   []string // as in [session.Outcome]
	Err       error    // nil means the task has completed
	Refused   bool     // the gate did not let the call through
	Record    record.Record
	Duration  time.Duration
	Partial   string // what its model has said last, if the task has not completed
}

// Fail makes err the outcome. Where no session was opened, the end of ctx is a
// cancelled call.
func (r *Result) Fail(ctx context.Context, err error) {
	r.Err, r.Text = err, outcome.WithPartial(errtext.Of(err), r.Partial)
	if ctx.Err() != nil && r.SessionID == "" {
		r.Status = record.Cancelled
	}
	var unaccepted *session.UnacceptedError
	if errors.As(err, &unaccepted) {
		r.Text = errtext.Of(err) + "\n\nThe last answer:\n" + unaccepted.Answer
	}
}

// Accepted is the status of a result whose subagent runs in the background.
const Accepted record.Status = "accepted"

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
	return XML(element, r.Agent, r.text())
}

// text is what was said, with where the changes are.
func (r *Result) text() string { return r.Record.Worktree.Below(r.Text, r.SessionID) }

// Answer is the text in the element of a task that has completed; empty means it has not.
func (r *Result) Answer() string {
	if r.Err != nil || r.Status == Accepted {
		return ""
	}
	return r.text()
}

// StopReason says why the task has ended: see [event.StopReason]. It is empty while it runs.
func (r *Result) StopReason() event.StopReason {
	if r.Status == Accepted {
		return ""
	}
	return cmp.Or(r.Record.StopReason, record.StopReason(r.Status, r.Err, ""))
}

// moreTime tells a caller what to do about a subagent that ran out of time.
const moreTime = "to give it more time, call task with timeoutSeconds (up to 86400), or with background: true, " +
	"which does not hold you up; task_send goes on with what it has done"

// Assess returns the answer in sections, and notes on what in it is not true, or is missing. The
// report is nil if the answer is none.
func (r *Result) Assess() (*report.Report, []string) {
	switch {
	case r.Status == Accepted:
		return nil, nil
	case r.StopReason() == event.StopTime:
		return nil, []string{moreTime}
	case r.Err != nil:
		return nil, nil
	}
	rep := report.Parse(r.Text)
	notes := report.Notes(rep, &r.Record.Work)
	if r.StopReason() == event.StopSteps {
		notes = append(notes, "the agent used all of its steps and had to conclude: the work may be incomplete")
	}
	return rep, notes
}

// ForModel is the result as the caller's model reads it: the element, and after it the worker's
// notes on the answer. No text of a subagent is in the notes. A host's model is not told that no
// tool was called, since the host may have asked for that.
func (r *Result) ForModel() string { return r.XML() + r.noted() + r.pointer() }

// EndNotes is [outcome.EndNotes]: the notes after the element of a result.
func EndNotes(r *record.Record, answer string) string {
	result := &Result{Agent: r.Agent, SessionID: r.ID, Status: r.Status, Record: *r, Text: answer}
	if r.Status != record.Completed {
		result.Err = errors.New(r.Error)
	}
	return result.noted() + result.pointer()
}

// pointer names the session of a result whose transcript is not part of its caller's.
func (r *Result) pointer() string {
	if r.Record.ParentID == "" || r.Record.Nested || r.Record.Cleanup || r.Status == Accepted {
		return ""
	}
	return fmt.Sprintf("\n[worker: session %s is the run; task_result with transcript: true shows what was done]", r.SessionID)
}

func (r *Result) noted() string {
	_, notes := r.Assess()
	if len(notes) > 0 && notes[0] == report.NoCall && !r.byAgent() {
		notes = notes[1:]
	}
	if r.Status != Accepted {
		notes = slices.Concat(r.Record.Warnings, notes)
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

// XML is [outcome.Element].
func XML(element, agent, text string) string { return outcome.Element(element, agent, text) }

// clean returns a text in which no tag of ours is one.
func clean(text string) string { return termtext.EscapeTags(text) }

// maxAgentName bounds what is shown of an agent's name, in bytes: a call may name
// anything.
const maxAgentName = outcome.MaxAgentName
