package log

import (
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// eventFolds has what [Fold] makes of an event.
var eventFolds = make(event.Folds[*fold])

func init() {
	on((*fold).start)
	on((*fold).claimed)
	on((*fold).changeStatus)
	on((*fold).say)
	on((*fold).think)
	on((*fold).retry)
	on((*fold).use)
	on((*fold).called)
	on((*fold).answered)
	on((*fold).endTurn)
	on((*fold).end)
	on(func(f *fold, ev event.ToolApprovalRequired, _ time.Time) { f.wait(ev.ApprovalID) })
	on(func(f *fold, ev event.ToolApprovalResolved, _ time.Time) { f.settle(ev.ApprovalID) })
	on(func(f *fold, ev event.QuestionAsked, _ time.Time) { f.wait(ev.QuestionID) })
	on(func(f *fold, ev event.QuestionAnswered, _ time.Time) { f.settle(ev.QuestionID) })
	on(func(f *fold, ev event.Warning, _ time.Time) {
		f.Record.Warnings = append(f.Record.Warnings, ev.Message)
	})
	on(func(f *fold, ev event.AssignmentChanged, _ time.Time) { f.Record.Assign(ev) })
	on(func(f *fold, _ event.MovedToBackground, _ time.Time) { f.Record.Background = true })
	on(func(f *fold, ev event.Todo, _ time.Time) { f.Record.Todo, f.Todo = record.ProgressOf(ev), ev })
	on(func(f *fold, ev event.Plan, _ time.Time) { f.Plan = ev })
	on(func(f *fold, ev event.Check, _ time.Time) { f.Record.Work = f.Record.Work.Checked(ev) })
	on(func(f *fold, ev event.Error, _ time.Time) { f.lastError = ev.Message })
	on(func(f *fold, ev event.CommandStart, _ time.Time) {
		f.Commands = append(f.Commands, Command{CommandStart: ev})
	})
	on(func(f *fold, ev event.CommandProgress, _ time.Time) {
		if i := findCommand(f.Commands, ev.CommandID); i >= 0 {
			f.Commands[i].Line, f.Commands[i].Waits = ev.Line, ev.Waits
		}
	})
	on(endCommand)
	eventFolds.Nothing(
		event.Stalled{},                                                       // it holds until the next event: see [fold.add]
		event.SubagentEvent{},                                                 // of another session
		event.AgentChanged{}, event.ModelSwitched{}, event.ContextCompacted{}, // entries say it
		event.ModelPicked{}, event.ToolProgress{}, event.Budget{}, event.AgentsChanged{},
	)
}

func on[E event.Event](change func(f *fold, ev E, at time.Time)) { event.On(eventFolds, change) }

func (f *fold) start(ev event.SessionStart, at time.Time) {
	r := &f.Record
	f.Started = true
	r.ID, r.Agent, r.ParentID, r.ParentMessageID = ev.SessionID, ev.AgentType, ev.ParentID, ev.ParentMessageID
	r.Description, r.Model, r.Depth, r.Resumes = ev.Description, ev.Model, ev.Depth, ev.Resumes
	r.Traceparent, r.Policy = ev.Traceparent, ev.Policy
	if r.CreatedAt.IsZero() {
		r.CreatedAt = at
	}
}

func (f *fold) changeStatus(ev event.StatusChange, at time.Time) {
	r := &f.Record
	f.LastStatus = ev.Status
	r.Pause = (*record.Pause)(ev.Pause)
	if status := ev.Status.Recorded(); status != "" {
		r.Status = status
		if status != record.Queued && r.StartedAt.IsZero() {
			r.StartedAt = at
		}
	}
}

func (f *fold) say(ev event.ContentDelta, _ time.Time) {
	f.drafted(ev.MessageID).add(ev.Offset, ev.Delta)
}

func (f *fold) think(ev event.ReasoningDelta, _ time.Time) { f.drafted(ev.MessageID) }

// retry forgets the message that another one replaces.
func (f *fold) retry(event.ModelRetry, time.Time) { f.draft = nil }

func (f *fold) use(ev event.Usage, at time.Time) {
	f.complete(at)
	if ev.InputTokens+ev.OutputTokens == 0 { // it is not known
		f.Unsettled.add(f.reserved, 0)
	}
	f.reserved = nil
	f.Record.Steps++
	f.Record.Usage = f.Record.Usage.Add(model.Usage(ev))
}

func (f *fold) endTurn(ev event.TurnComplete, _ time.Time) {
	f.LastTurn, f.Answer = ev.Message, &ev.Message.Text
}

// wait notes a question to a person.
func (f *fold) wait(id string) {
	if !slices.Contains(f.Pending, id) {
		f.Pending = append(f.Pending, id)
	}
}

func (f *fold) settle(id string) {
	f.Pending = slices.DeleteFunc(f.Pending, func(pending string) bool { return pending == id })
}

// findCommand returns where a command is; below 0: nowhere.
func findCommand(all []Command, id string) int {
	return slices.IndexFunc(all, func(c Command) bool { return c.CommandID == id })
}

// endCommand forgets a command, unless it has ended with its process.
func endCommand(f *fold, ev event.CommandEnd, _ time.Time) {
	i := findCommand(f.Commands, ev.CommandID)
	switch {
	case i < 0:
	case ev.StoppedBy == event.WorkerEnd:
		f.Commands[i].Lost = true
	default:
		f.Commands = slices.Delete(f.Commands, i, i+1)
	}
}

func (f *fold) end(ev event.SessionEnd, at time.Time) {
	r, status := &f.Record, ev.Status
	if !status.Ended() {
		status = record.Interrupted
	}
	f.cutOff(at)
	r.Status, r.StopReason, r.Closed = status, ev.StopReason, true
	if f.over {
		return
	}
	r.EndedAt = at
	if status != record.Completed {
		r.Error = f.lastError
	}
}
