// Package live keeps account of what sessions do at the moment, by their records and
// their events, for what shows that to a person.
package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// Session is how a session is at the moment. What models and agent files say stands in
// it in one line each, without escapes.
type Session struct {
	ID       string
	ParentID string // empty means a root
	Agent    string // empty means it stands for a caller
	Label    string // what it is to do, in a few words
	Model    string
	Status   store.Status
	Error    string // why it has not completed
	Pause    *store.Pause
	Retry    *event.Retry
	Stalled  bool
	Spent    bool // its budget is used up
	Lost     bool // its process has gone, and none is there that would end it
	Asks     []*store.Approval
	Calls    []Call // that run, without those of task
	Steps    int
	Usage    model.Usage
	Created  time.Time
	Started  time.Time
	Ended    time.Time
	Active   time.Time // of its own newest event; zero means not known

	stored bool // a list has had it
}

// Call is a tool call that runs.
type Call struct {
	ID    string
	Text  string // the tool, and what the call is about
	Since time.Time
}

// longest bounds each text of a session, in characters.
const longest = 500

// put takes over what a record says. Events may be ahead of it.
func (s *Session) put(r *store.Record) {
	s.stored = true
	s.ID, s.ParentID = r.ID, r.ParentID
	s.Agent = termtext.OneLine(r.Agent, longest)
	s.Label = termtext.OneLine(cmp.Or(r.Label, r.Description), longest)
	s.Model = termtext.OneLine(r.Model, longest)
	s.Created, s.Started = r.CreatedAt, r.StartedAt
	if r.Steps >= s.Steps {
		s.Steps, s.Usage = r.Steps, r.Usage
	}
	if s.Status.Ended() && !r.Status.Ended() {
		return
	}
	s.Status, s.Error, s.Ended = r.Status, termtext.OneLine(r.Error, longest), r.EndedAt
	s.Stalled, s.Pause = r.Stalled, r.Pause
	if r.Status.Ended() {
		s.end()
	}
}

// end forgets what only a session has that runs.
func (s *Session) end() {
	s.Calls, s.Asks, s.Pause, s.Retry, s.Stalled, s.Spent, s.Lost = nil, nil, nil, nil, false, false, false
}

// event takes over what an event of the session says, which was stored at a time.
func (s *Session) event(ev event.Event, at time.Time) {
	if s.Status.Ended() {
		return
	}
	if s.Active = at; s.Stalled {
		_, s.Stalled = ev.(event.Stalled)
	}
	switch ev := ev.(type) {
	case event.SessionStart:
		s.Agent, s.Model = termtext.OneLine(ev.AgentType, longest), termtext.OneLine(ev.Model, longest)
		s.Label = cmp.Or(s.Label, termtext.OneLine(ev.Description, longest))
		if s.Created.IsZero() {
			s.Created = at
		}
	case event.StatusChange:
		s.change(ev, at)
	case event.ToolCallStart:
		if ev.ToolName != "task" {
			s.Calls = append(s.Calls, Call{ev.ToolCallID, termtext.OneLine(ev.Summary(), longest), at})
		}
	case event.ToolCallEnd:
		s.Calls = slices.DeleteFunc(s.Calls, func(c Call) bool { return c.ID == ev.ToolCallID })
	case event.ToolApprovalRequired:
		s.asks(ev, at)
	case event.ToolApprovalResolved:
		s.Asks = slices.DeleteFunc(slices.Clone(s.Asks), func(a *store.Approval) bool { return a.ID == ev.ApprovalID })
	case event.Usage:
		s.Steps++
		s.Usage = s.Usage.Add(model.Usage(ev))
	case event.Stalled:
		s.Stalled = true
	case event.Budget:
		s.Spent = ev.Percent >= 100
	case event.Error:
		s.Error = termtext.OneLine(ev.Message, longest)
	case event.SessionEnd:
		s.Status, s.Ended = store.Status(ev.Status), at
		s.end()
	}
}

// asks notes a call that waits. A list of the approvals says more of it.
func (s *Session) asks(ev event.ToolApprovalRequired, at time.Time) {
	if slices.ContainsFunc(s.Asks, func(a *store.Approval) bool { return a.ID == ev.ApprovalID }) {
		return
	}
	s.Asks = append(s.Asks[:len(s.Asks):len(s.Asks)], &store.Approval{
		ID: ev.ApprovalID, SessionID: s.ID, Agent: s.Agent, ToolCallID: ev.ToolCallID, Tool: ev.ToolName,
		Arguments: ev.Arguments, Patterns: ev.Patterns, AlwaysPatterns: ev.AlwaysPatterns, CreatedAt: at, ExpiresAt: ev.ExpiresAt,
	})
}

// statuses are those of sessions for what they are said to do.
var statuses = map[event.Status]store.Status{
	event.StatusQueued: store.Queued, event.StatusWaitingApproval: store.WaitingApproval,
}

func (s *Session) change(ev event.StatusChange, at time.Time) {
	if s.Retry = ev.Retry; s.Retry != nil {
		return
	}
	s.Pause = nil
	if ev.Pause != nil {
		s.Pause = &store.Pause{Until: ev.Pause.Until, Reason: ev.Pause.Reason}
	}
	if ev.Status == event.StatusStreaming || ev.Status == event.StatusIdle {
		s.Calls = nil
	}
	if s.Status = cmp.Or(statuses[ev.Status], store.Running); s.Status == store.Running && s.Started.IsZero() {
		s.Started = at
	}
}

// questions are the tools of calls that ask for more than to be let through: whether a
// session may use more, and whether its plan is to be carried out.
var questions = []string{"budget", "plan_exit"}

// Needs says in a word what of the session needs somebody; empty means nothing.
func (s *Session) Needs() string {
	switch {
	case s.Status.Ended():
		return ""
	case s.Lost:
		return "lost"
	case len(s.Asks) > 0 && slices.Contains(questions, s.Asks[0].Tool):
		return "question"
	case len(s.Asks) > 0, s.Status == store.WaitingApproval:
		return "approval"
	case s.Stalled:
		return "stalled"
	case s.Spent:
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
	switch {
	case s.Status.Ended():
		return s.Error
	case s.Lost:
		return "its process has gone: stop it"
	case len(s.Asks) > 0:
		a := s.Asks[0]
		return termtext.OneLine(event.ToolApprovalRequired{ToolName: a.Tool, Arguments: a.Arguments}.Summary(), longest)
	case s.Pause != nil:
		return "until " + s.Pause.Until.Local().Format(time.TimeOnly) + ": " + termtext.OneLine(s.Pause.Reason, longest)
	case s.Retry != nil:
		return s.Retry.SummaryAfter(0)
	case len(s.Calls) > 1:
		return fmt.Sprintf("%s, and %d more", s.Calls[0].Text, len(s.Calls)-1)
	case len(s.Calls) == 1:
		return s.Calls[0].Text
	}
	return ""
}

// Age is how long ago the session was last heard of, or has ended; below 0: not known.
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

// Name is the agent and what it is to do.
func (s *Session) Name() string {
	return strings.TrimSpace(cmp.Or(s.Agent, "caller") + "  " + s.Label)
}

// Short is a time in at most four characters: 12s, 3m, 2h, 5d.
func Short(d time.Duration) string {
	switch {
	case d < 0:
		return "-"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", min(999, int(d.Hours()/24)))
}

// Count is a number in at most six characters: 950, 12.5k, 3.1M.
func Count(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n/100)/10)
	}
	return fmt.Sprintf("%.1fM", float64(n/100_000)/10)
}
