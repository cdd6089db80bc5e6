package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/toolcatalog"
)

// questions are the tools whose calls ask a person for more than permission: for a larger budget,
// for a word on a plan, or for an answer.
var questions = []string{"budget", toolcatalog.PlanExit, toolcatalog.AskUser}

// Needs says in a word why the session needs a person; empty means that it does not.
func (s *Session) Needs() string {
	switch {
	case s.Status.Ended():
		return ""
	case s.Lost:
		return "lost"
	case len(s.Questions) > 0 && slices.Contains(questions, s.Questions[0].ToolName):
		return "question"
	case len(s.Questions) > 0, s.Status.Waiting():
		return "approval"
	case s.waiting() != nil:
		return "input"
	case s.Stalled:
		return "stalled"
	case s.Budget != nil && s.Budget.Percent >= 100:
		return "over budget"
	case s.Pause != nil:
		return "paused"
	}
	return ""
}

// State is the session's state in a word or two.
func (s *Session) State() string { return cmp.Or(s.Needs(), string(s.Status)) }

// Doing says what the session does, in one line; empty means nothing that is known.
func (s *Session) Doing() string {
	calls := s.OwnCalls()
	switch {
	case s.Status.Ended():
		return cmp.Or(s.Error, s.Reason.Words())
	case s.Lost:
		return "its process has gone: stop it"
	case len(s.Questions) > 0:
		return s.Questions[0].Summary()
	case s.waiting() != nil:
		return s.waiting().String()
	case s.Pause != nil:
		return "until " + s.Pause.Until.Local().Format(time.TimeOnly) + ": " + line(s.Pause.Reason)
	case s.Retry != nil:
		return s.Retry.SummaryAfter(0)
	case len(calls) > 1:
		return fmt.Sprintf("%s, and %d more", calls[0].Summary, len(calls)-1)
	case len(calls) == 1:
		return calls[0].Summary
	case len(s.Commands) > 0:
		return s.Commands[len(s.Commands)-1].String()
	}
	return ""
}

// OwnCalls returns the running calls except calls of task: a subagent shows its own work.
func (s *Session) OwnCalls() []Call {
	return slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return c.Tool == "task" })
}

// Name is the agent and its task, in one line.
func (s *Session) Name() string {
	return strings.TrimSpace(cmp.Or(s.Agent, "caller") + "  " + s.Label)
}

// Age is how long ago the last event was, or the end; below 0: not known.
func (s *Session) Age(now time.Time) time.Duration {
	last := s.Active
	if s.Status.Ended() {
		last = s.Ended
	}
	if last.IsZero() {
		return -1
	}
	return max(0, now.Sub(last))
}

// Elapsed is how long the session has run.
func (s *Session) Elapsed(now time.Time) time.Duration {
	if s.Started.IsZero() {
		return 0
	}
	if s.Status.Ended() {
		now = s.Ended
	}
	return max(0, now.Sub(s.Started))
}
