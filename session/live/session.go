// Package live projects the events and the record of a session to what the session does now.
//
// It is the one fold of events for everything that shows sessions to people: the live page, the
// terminal, the progress of MCP, the updates of ACP. Each of them renders a [Session].
//
// The package is pure: it reads and writes nothing, and asks for no time.
package live

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// Session is what one session does now. Texts that models and strangers have written are in it
// in one line each, without characters that move a cursor; Text and Pause are as they came.
type Session struct {
	ID              string
	Path            event.Path // from the root down to the session; its own hop is the last one
	ParentID        string     // empty for a root
	ParentMessageID string     // the message whose tool call has made the session
	Agent           string     // empty means a caller's session
	Label           string     // its task in a few words
	Model           string
	Resumes         string // the ended session whose conversation it continues
	Worktree        string // the branch of its own worktree
	Background      bool   // no call waits for it
	Detached        bool

	Status event.Status     // as its record has it
	Reason event.StopReason // why it has ended
	Error  string           // the last error; of a session that has ended, why it has not completed
	Lost   bool             // its process has exited, and no other one ends it; set by views that read the leases

	Activity event.Status // from the last status_change; empty before the first one and after the end
	Since    time.Time    // the activity began
	Retry    *event.Retry // a repeated model call; nil means none
	RetryAt  time.Time    // the time of Retry
	Pause    *event.Pause // nil means not paused
	Stalled  bool         // nothing has happened for long

	Commands  []Command  // that go on in its background, in the order of their starts
	Calls     []Call     // tool calls that run, in the order of their starts
	Questions []Question // tool calls that wait for a person, the oldest first
	Text      string     // the end of what the model has said since the activity began
	TextSize  int        // characters of all that it has said since then

	Steps     int
	ToolCalls int
	Failed    int // of ToolCalls
	Usage     model.Usage
	Budget    *event.Budget // nil means not known
	Todo      *record.Progress
	Warnings  []string // the first ones
	Reviews   []string // what a reviewer has said of calls, the last ones

	Created time.Time
	Started time.Time // zero while it waits for a slot
	Ended   time.Time
	Active  time.Time // of its last event; zero means not known

	seq    uint64 // of the last event that was applied
	stored bool   // a record was applied
}

// Call is a tool call that runs.
type Call struct {
	ID        string
	MessageID string
	Tool      string
	Summary   string // the tool, and what the call is about
	Step      int
	Since     time.Time
}

// Question is a tool call that waits for a person.
type Question struct {
	event.ToolApprovalRequired
	Ask   *event.Ask // what the agent itself asks; nil means that it asks for permission
	Since time.Time
}

// asked is the question that an agent itself asks.
func asked(ev event.QuestionAsked, at time.Time) Question {
	return Question{event.ToolApprovalRequired{
		ApprovalID: ev.QuestionID, ToolCallID: ev.ToolCallID, ToolName: toolcatalog.AskUser, SessionID: ev.SessionID,
		Question: ev.Ask.Shown(), ExpiresAt: ev.ExpiresAt, Where: ev.Where,
	}, &ev.Ask, at}
}

// Event is an event of a session, with its place.
type Event struct {
	Path  event.Path // from the root down to the session of the event
	Event event.Event
	Time  time.Time // when it was stored
	Seq   uint64    // its number in the store; 0 means not known
}

// Decode reads an event from the stream of a root session, with the envelopes around it.
func Decode(root string, raw []byte, at time.Time, seq uint64) (Event, error) {
	around, ev, err := event.Unwrap(raw)
	if err != nil {
		return Event{}, err
	}
	path := event.Path{{SessionID: root}}
	for _, a := range around {
		path = append(path, event.Hop{SessionID: a.SessionID, AgentType: a.AgentType})
	}
	return Event{path, ev, at, seq}, nil
}

// ID is the id of the session of the event.
func (e Event) ID() string { return e.Path[len(e.Path)-1].SessionID }

const (
	maxText     = 2000 // bytes of [Session.Text]
	maxWarnings = 20   // of a session
	maxReviews  = 5    // of a session
)

func line(text string) string { return termtext.OneLine(text, termtext.MaxLine) }

// apply updates the session with an event of its own. It reports false for an event that the
// session had before, and for one that follows its end.
func (s *Session) apply(e Event) bool {
	if s.Status.Ended() || e.Seq != 0 && e.Seq <= s.seq {
		return false
	}
	s.seq, s.Active = e.Seq, e.Time
	_, s.Stalled = e.Event.(event.Stalled)
	folds.Apply(s, e.Event, e.Time)
	return true
}

func (s *Session) start(ev event.SessionStart, at time.Time) {
	s.Agent, s.Model = line(ev.AgentType), line(ev.Model)
	s.Resumes, s.ParentMessageID = ev.Resumes, ev.ParentMessageID
	s.ParentID = cmp.Or(s.ParentID, ev.ParentID)
	s.Label = cmp.Or(s.Label, line(ev.Description))
	if s.Created.IsZero() {
		s.Created = at
	}
}

// change updates the activity. A retry does not change it.
func (s *Session) change(ev event.StatusChange, at time.Time) {
	if ev.Retry != nil {
		s.Retry, s.RetryAt = ev.Retry, at
		return
	}
	s.Activity, s.Since, s.Retry, s.Pause, s.Text, s.TextSize = ev.Status, at, nil, ev.Pause, "", 0
	s.Status = cmp.Or(ev.Status.Recorded(), s.Status)
	if !ev.Status.Calling() {
		s.Calls = nil
	}
	if s.Started.IsZero() && s.Status != event.StatusQueued {
		s.Started = at
	}
}

// say notes what the model has said. It answers, so it is not retried any more.
func (s *Session) say(text string) {
	s.Retry = nil
	s.TextSize += utf8.RuneCountInString(text)
	s.Text += text
	if over := len(s.Text) - maxText; over > 0 {
		s.Text = strings.ToValidUTF8(s.Text[over:], "")
	}
}

// end forgets what only a running session has.
func (s *Session) end(ev event.SessionEnd, at time.Time) {
	s.Status, s.Reason, s.Ended = ev.Status, ev.StopReason, at
	s.Activity, s.Calls, s.Questions, s.Text, s.TextSize = "", nil, nil, "", 0
	s.Retry, s.Pause, s.Stalled, s.Lost, s.Commands = nil, nil, false, false, nil
}

// put updates the session with its record. The record of a running session may be older than
// the events, and counts where no event was applied.
func (s *Session) put(r *record.Record) {
	s.stored = true
	s.ID, s.ParentID, s.ParentMessageID, s.Path = r.ID, r.ParentID, r.ParentMessageID, r.Path
	s.Agent, s.Model, s.Label = line(r.Agent), line(r.Model), line(cmp.Or(r.Label, r.Description))
	s.Resumes, s.Detached, s.Created = r.Resumes, r.Detached, r.CreatedAt
	s.Background = s.Background || r.Background
	if r.Worktree != nil {
		s.Worktree = r.Worktree.Branch
	}
	if len(r.Warnings) > 0 {
		s.Warnings = nil
		for _, text := range r.Warnings {
			s.Warnings = append(s.Warnings, line(text))
		}
	}
	ended := r.Status.Ended()
	if ended || r.Steps >= s.Steps {
		s.Steps, s.Usage = r.Steps, r.Usage
	}
	switch {
	case ended:
		s.end(event.SessionEnd{Status: r.Status, StopReason: r.StopReason}, r.EndedAt)
		s.Started, s.Error = r.StartedAt, line(r.Error)
		s.ToolCalls, s.Failed = r.Work.ToolCalls, r.Work.Failed
		s.Todo = cmp.Or(r.Todo, s.Todo)
	case s.seq == 0 && !s.Status.Ended():
		s.Status, s.Started, s.Stalled, s.Pause = r.Status, r.StartedAt, r.Stalled, (*event.Pause)(r.Pause)
	}
}
