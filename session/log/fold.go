package log

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/record"
)

// Fold returns the state that the entries of a log, from the first one on, describe. The
// log may end anywhere. Fold ignores entries after session_end, and unknown kinds. It
// returns an error for an entry that is unreadable, or that a worker of another schema has
// written.
func Fold(entries iter.Seq[Entry]) (*State, error) {
	f := &fold{groups: make(map[string]*group), calls: make(map[string]*group)}
	f.Record = record.Record{Schema: record.Schema, Status: record.Queued}
	for e := range entries {
		if f.Record.Closed {
			break
		}
		if err := f.add(e); err != nil {
			return nil, fmt.Errorf("entry %d (%s) of the log: %w", e.Seq, e.Kind, err)
		}
	}
	f.finish()
	return &f.State, nil
}

// DecodeOpened returns the record of a session from the first entry of its log.
func DecodeOpened(e Entry) (*record.Record, error) {
	state, err := Fold(slices.Values([]Entry{e}))
	if err == nil && len(state.Record.Path) == 0 {
		err = fmt.Errorf("entry %d (%s) of a log: it has no path", e.Seq, e.Kind)
	}
	if err != nil {
		return nil, err
	}
	return &state.Record, nil
}

// fold is an unfinished State.
type fold struct {
	State
	draft       *draft            // what the model is saying; nil means nothing
	groups      map[string]*group // by the message that has the calls
	calls       map[string]*group // by the call
	order       []*group
	unmasked    map[string]event.Event // events that are published masked, by [unmaskedKey]
	deliveredBy map[string]string      // by the id of a message: the call whose result delivers it
	over        bool                   // the log has said how the session ends
	lastError   string                 // by the last error event
	at          time.Time              // of the previous entry; zero means the session did not work then

	reserved *reserveData // for the call that is under way; nil means nothing
}

func (f *fold) add(e Entry) error {
	if e.Kind == fenceKind { // the session does nothing meanwhile
		return f.fence(e)
	}
	defer f.pass(e.Time)
	if !e.Event {
		return f.addEntry(e)
	}
	if e.Kind == (event.SubagentEvent{}).Type() {
		return nil
	}
	ev, err := event.Decode(e.Data)
	if err != nil {
		return err
	}
	if ev, ok := ev.(event.SessionResumed); ok {
		f.claimed(ev)
		return nil
	}
	f.addEvent(f.unmaskedOf(ev), e.Time)
	return nil
}

// addEntry applies an entry that is not an event.
func (f *fold) addEntry(e Entry) error {
	r := &f.Record
	switch e.Kind {
	case OpenedKind:
		var entry openedData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		if err := record.CheckSchema("the log", entry.Schema); err != nil {
			return err
		}
		r.BootID, r.CreatedAt, r.Path = entry.BootID, entry.CreatedAt, entry.Path
		r.Worktree, r.Fork, r.Nested = entry.Worktree, entry.Fork, entry.Nested
		r.Background, r.Detached, r.Cleanup, r.Resumes, f.Terms = entry.Background, entry.Detached, entry.Cleanup, entry.Resumes, entry.Terms
		f.CallID = entry.CallID
		r.Label, r.Metadata, r.Resident, r.AskedBy = entry.Label, entry.Metadata, entry.Resident, entry.AskedBy
		if n := len(r.Path); n > 0 {
			r.ID, r.Agent, r.Depth = r.Path[n-1].SessionID, r.Path[n-1].AgentType, n-1
			if n > 1 {
				r.ParentID = r.Path[n-2].SessionID
			}
		}
		f.Opened = true
	case messageKind:
		var entry messageData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		f.addMessage(&entry, e.Time)
	case unmaskedKind:
		return f.expect(e.Data)
	case hiddenKind:
		var entry []hidden.Placeholder
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		f.Hidden = append(f.Hidden, entry...)
	case budgetKind:
		f.Budget = bytes.Clone(e.Data)
	case reserveKind:
		var entry reserveData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		f.reserve(entry)
	case knownKind:
		var entry knownData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		if f.deliveredBy == nil {
			f.deliveredBy = make(map[string]string)
		}
		for _, id := range entry.IDs {
			f.deliveredBy[id] = entry.CallID
		}
	case askedKind:
		var entry askedData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		r.AskedBy = record.AddPerson(r.AskedBy, entry.By)
	case compactKind:
		return f.compact(e)
	case agentKind:
		return f.become(e)
	case titledKind:
		return f.entitle(e)
	case endedKind:
		var entry endedData
		if err := json.Unmarshal(e.Data, &entry); err != nil {
			return err
		}
		r.StartedAt, r.EndedAt, r.Error, r.EndedBy = entry.StartedAt, entry.EndedAt, entry.Error, entry.EndedBy
		r.Worktree = cmp.Or(entry.Worktree, r.Worktree)
		r.Work.Idle, r.Work.Evidence, r.Total = entry.Idle, entry.Evidence, entry.Total
		f.over = true
	}
	return nil
}

func (f *fold) fence(e Entry) error {
	var entry fenceData
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return err
	}
	f.Fence, f.Fenced = e.Seq, entry.By == "" || entry.By != entry.Owner
	return nil
}

func (f *fold) addMessage(entry *messageData, at time.Time) {
	if entry.Role == model.Assistant {
		f.drafted(entry.ID).say(entry)
		return
	}
	f.cutOff(at) // a cancelled turn, or a message that interrupted the model
	f.Answer = nil
	if g := f.groups[entry.Answers]; g != nil && g.answer != nil {
		g.answer.Text = entry.Text
		return
	}
	if f.delivered[entry.ID] { // by its own process, and by one that took that for dead
		return
	}
	f.deliver(entry.ID)
	f.Prompted = true
	f.append(entry.ID, at, model.Message{Role: entry.Role, Text: entry.Text, Images: entry.Images})
}

func (f *fold) deliver(id string) {
	if f.delivered == nil {
		f.delivered = make(map[string]bool)
	}
	f.delivered[id] = true
}

// addEvent applies an event of the session.
func (f *fold) addEvent(ev event.Event, at time.Time) {
	r := &f.Record
	_, r.Stalled = ev.(event.Stalled)
	switch ev := ev.(type) {
	case event.SessionStart:
		f.Started = true
		r.ID, r.Agent, r.ParentID, r.ParentMessageID = ev.SessionID, ev.AgentType, ev.ParentID, ev.ParentMessageID
		r.Description, r.Model, r.Depth, r.Resumes = ev.Description, ev.Model, ev.Depth, ev.Resumes
		r.Traceparent, r.Policy = ev.Traceparent, ev.Policy
		if r.CreatedAt.IsZero() {
			r.CreatedAt = at
		}
	case event.Warning:
		r.Warnings = append(r.Warnings, ev.Message)
	case event.StatusChange:
		f.LastStatus = ev.Status
		r.Pause = (*record.Pause)(ev.Pause)
		if status := ev.Status.Recorded(); status != "" {
			r.Status = status
			if status != record.Queued && r.StartedAt.IsZero() {
				r.StartedAt = at
			}
		}
	case event.ContentDelta:
		f.drafted(ev.MessageID).add(ev.Offset, ev.Delta)
	case event.ReasoningDelta:
		f.drafted(ev.MessageID)
	case event.ModelRetry: // another message takes its place
		f.draft = nil
	case event.Usage:
		f.complete(at)
		if ev.InputTokens+ev.OutputTokens == 0 { // it is not known
			f.Unsettled.add(f.reserved, 0)
		}
		f.reserved = nil
		r.Steps++
		r.Usage = r.Usage.Add(model.Usage(ev))
	case event.ToolCallStart:
		f.called(ev, at)
	case event.ToolCallEnd:
		f.answered(ev, at)
		r.Work = r.Work.Add(ev)
	case event.AssignmentChanged:
		r.Assign(ev)
	case event.MovedToBackground:
		r.Background = true
	case event.Todo:
		r.Todo, f.Todo = record.ProgressOf(ev), ev
	case event.Plan:
		f.Plan = ev
	case event.TurnComplete:
		f.LastTurn, f.Answer = ev.Message, &ev.Message.Text
	case event.Check:
		r.Work = r.Work.Checked(ev)
	case event.ToolApprovalRequired:
		if !slices.Contains(f.Pending, ev.ApprovalID) {
			f.Pending = append(f.Pending, ev.ApprovalID)
		}
	case event.ToolApprovalResolved:
		f.Pending = slices.DeleteFunc(f.Pending, func(id string) bool { return id == ev.ApprovalID })
	case event.QuestionAsked:
		if !slices.Contains(f.Pending, ev.QuestionID) {
			f.Pending = append(f.Pending, ev.QuestionID)
		}
	case event.QuestionAnswered:
		f.Pending = slices.DeleteFunc(f.Pending, func(id string) bool { return id == ev.QuestionID })
	case event.Error:
		f.lastError = ev.Message
	case event.SessionEnd:
		f.end(ev, at)
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

func (f *fold) append(id string, at time.Time, m model.Message) *Message {
	stored := &Message{Schema: record.Schema, ID: id, CreatedAt: at, Message: m}
	f.Messages, f.Sent = append(f.Messages, stored), append(f.Sent, stored)
	return stored
}

// finish adds what only the end of the log shows.
func (f *fold) finish() {
	f.Unsettled.add(f.reserved, 1)
	for _, m := range f.Messages {
		m.SessionID = f.Record.ID
	}
	f.Partial, f.latest = f.lastText(), f.lastResult()
	for id, call := range f.deliveredBy {
		if g := f.calls[call]; g != nil && g.results[call].ToolCallID == call {
			f.deliver(id)
		}
	}
	for _, g := range f.order {
		if g.answer == nil {
			f.cutShort(g)
		}
	}
}
