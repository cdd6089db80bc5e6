package live

import (
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// folds has what an event of a session changes of it.
var folds = make(event.Folds[*Session])

func init() {
	on((*Session).start)
	on((*Session).change)
	on((*Session).end)
	on(func(s *Session, ev event.ModelRetry, at time.Time) {
		s.Retry, s.RetryAt, s.Text, s.TextSize = &ev.Retry, at, "", 0
	})
	on(func(s *Session, ev event.ContentDelta, _ time.Time) { s.say(ev.Delta) })
	on(func(s *Session, ev event.ReasoningDelta, _ time.Time) { s.say(ev.Delta) })
	on(func(s *Session, ev event.ToolCallStart, at time.Time) {
		s.Calls = append(s.Calls, Call{ev.ToolCallID, ev.MessageID, ev.ToolName, ev.Summary(), ev.Step, at})
		s.ToolCalls++
	})
	on(func(s *Session, ev event.ToolCallEnd, _ time.Time) {
		s.Calls = slices.DeleteFunc(s.Calls, func(c Call) bool { return c.ID == ev.ToolCallID })
		if ev.IsError {
			s.Failed++
		}
		if ev.Review != "" {
			s.Reviews = append(s.Reviews, line(ev.ToolName+": "+ev.Review))
			s.Reviews = s.Reviews[max(0, len(s.Reviews)-maxReviews):]
		}
	})
	on(func(s *Session, ev event.ToolApprovalRequired, at time.Time) {
		s.ask(Question{ToolApprovalRequired: ev, Since: at})
	})
	on(func(s *Session, ev event.QuestionAsked, at time.Time) { s.ask(asked(ev, at)) })
	on(func(s *Session, ev event.ToolApprovalResolved, _ time.Time) { s.settle(ev.ApprovalID) })
	on(func(s *Session, ev event.QuestionAnswered, _ time.Time) { s.settle(ev.QuestionID) })
	on(func(s *Session, ev event.Usage, _ time.Time) {
		s.Steps++
		s.Usage = s.Usage.Add(model.Usage(ev))
	})
	on(func(s *Session, ev event.Budget, _ time.Time) { s.Budget = &ev })
	on(func(s *Session, _ event.MovedToBackground, _ time.Time) { s.Background = true })
	on(func(s *Session, ev event.Todo, _ time.Time) { s.Todo = record.ProgressOf(ev) })
	on(func(s *Session, ev event.Warning, _ time.Time) {
		if len(s.Warnings) < maxWarnings {
			s.Warnings = append(s.Warnings, line(ev.Message))
		}
	})
	on(func(s *Session, ev event.Error, _ time.Time) { s.Error = line(ev.Message) })
	folds.Nothing(
		event.Stalled{},                                                  // it holds until the next event: see [Session.apply]
		event.SubagentEvent{},                                            // of another session
		event.AgentChanged{}, event.ModelSwitched{}, event.ModelPicked{}, // the record says it
		event.ToolProgress{}, event.Check{}, event.Plan{}, event.TurnComplete{}, // not shown
		event.ContextCompacted{}, event.AssignmentChanged{}, event.AgentsChanged{},
	)
}

func on[E event.Event](change func(s *Session, ev E, at time.Time)) { event.On(folds, change) }

// ask notes a call that waits for a person. One that comes again is known.
func (s *Session) ask(q Question) {
	if !slices.ContainsFunc(s.Questions, func(known Question) bool { return known.ApprovalID == q.ApprovalID }) {
		s.Questions = append(s.Questions, q)
	}
}

func (s *Session) settle(id string) {
	s.Questions = slices.DeleteFunc(s.Questions, func(q Question) bool { return q.ApprovalID == id })
}
