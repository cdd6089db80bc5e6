package live

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// TestApply: what each event changes.
func TestApply(t *testing.T) {
	call := func(id, tool string) event.Event {
		return event.ToolCallStart{ToolCallID: id, ToolName: tool, Arguments: `{"path":"a"}`, Step: 2, MessageID: "m"}
	}
	asks := event.ToolApprovalRequired{ApprovalID: "apr", ToolName: "grep"}
	question := event.QuestionAsked{QuestionID: "qst", Ask: event.Ask{Question: "Which?"}}
	retry := &event.Retry{Try: 2}
	pause := &event.Pause{Reason: "limit"}
	for _, tt := range []struct {
		name   string
		events []event.Event
		want   Session // without ID, Path, Active and seq
	}{
		{"start", []event.Event{event.SessionStart{AgentType: "a\x1b[2J", Model: "m", ParentMessageID: "p", Description: "do\nit", Resumes: "r"}},
			Session{Agent: "a[2J", Model: "m", ParentMessageID: "p", Label: "do it", Resumes: "r", Status: event.StatusQueued, Created: at(0)}},
		{"queued", []event.Event{event.StatusChange{Status: event.StatusQueued}},
			Session{Status: event.StatusQueued, Activity: event.StatusQueued, Since: at(0)}},
		{"streaming", []event.Event{event.StatusChange{Status: event.StatusStreaming}, event.ReasoningDelta{Delta: "hm "}, event.ContentDelta{Delta: "né"}},
			Session{Status: event.StatusRunning, Activity: event.StatusStreaming, Since: at(0), Started: at(0), Text: "hm né", TextSize: 5}},
		{"retry", []event.Event{event.StatusChange{Status: event.StatusStreaming}, event.StatusChange{Status: event.StatusStreaming, Retry: retry}},
			Session{Status: event.StatusRunning, Activity: event.StatusStreaming, Since: at(0), Started: at(0), Retry: retry, RetryAt: at(1)}},
		{"retried", []event.Event{event.StatusChange{Retry: retry}, event.ContentDelta{Delta: "a"}},
			Session{Status: event.StatusQueued, RetryAt: at(0), Text: "a", TextSize: 1}},
		{"paused", []event.Event{event.StatusChange{Status: event.StatusPaused, Pause: pause}},
			Session{Status: event.StatusRunning, Activity: event.StatusPaused, Since: at(0), Started: at(0), Pause: pause}},
		{"calls", []event.Event{call("1", "grep"), call("2", "task"), event.ToolCallEnd{ToolCallID: "1", IsError: true}},
			Session{Status: event.StatusQueued, Calls: []Call{{"2", "m", "task", "task a", 2, at(1)}}, ToolCalls: 2, Failed: 1}},
		{"streaming again", []event.Event{call("1", "grep"), event.StatusChange{Status: event.StatusStreaming}},
			Session{Status: event.StatusRunning, Activity: event.StatusStreaming, Since: at(1), Started: at(1), ToolCalls: 1}},
		{"asks, twice", []event.Event{event.StatusChange{Status: event.StatusWaitingApproval}, asks, asks},
			Session{Status: event.StatusWaitingApproval, Activity: event.StatusWaitingApproval, Since: at(0), Started: at(0), Questions: []Question{{asks, nil, at(1)}}}},
		{"a question", []event.Event{question, question, asks}, Session{Status: event.StatusQueued, Questions: []Question{{asked(question, at(0)).ToolApprovalRequired, &question.Ask, at(0)}, {asks, nil, at(2)}}}},
		{"a question, answered", []event.Event{question, event.QuestionAnswered{QuestionID: "qst"}}, Session{Status: event.StatusQueued, Questions: []Question{}}},
		{"answered", []event.Event{asks, event.ToolApprovalResolved{ApprovalID: "apr"}}, Session{Status: event.StatusQueued, Questions: []Question{}}},
		{"usage", []event.Event{event.Usage{InputTokens: 2}, event.Usage{InputTokens: 3}},
			Session{Status: event.StatusQueued, Steps: 2, Usage: model.Usage{InputTokens: 5}}},
		{"stalled", []event.Event{event.Stalled{}}, Session{Status: event.StatusQueued, Stalled: true}},
		{"not stalled any more", []event.Event{event.Stalled{}, event.Unknown{TypeName: "new"}}, Session{Status: event.StatusQueued}},
		{"notes", []event.Event{event.Budget{Percent: 80}, event.Todo{Items: []event.TodoItem{{Text: "x"}}}, event.Warning{Message: "w"}, event.MovedToBackground{}},
			Session{Status: event.StatusQueued, Budget: &event.Budget{Percent: 80}, Todo: &record.Progress{Total: 1, Current: "x"}, Warnings: []string{"w"}, Background: true}},
		{"end", []event.Event{event.StatusChange{Status: event.StatusStreaming}, event.Error{Message: "e"}, call("1", "grep"), asks, event.SessionEnd{Status: "failed"}},
			Session{Status: event.StatusFailed, Error: "e", Since: at(0), Started: at(0), Ended: at(4), ToolCalls: 1}},
		{"after the end", []event.Event{event.SessionEnd{Status: "completed"}, event.Error{Message: "e"}}, Session{Status: event.StatusCompleted, Ended: at(0)}},
	} {
		var tree Tree
		for i, ev := range tt.events {
			tree.Apply(Event{event.Path{{SessionID: "s"}}, ev, at(i), uint64(i + 1)})
		}
		got := *tree.Get("s")
		got.ID, got.Path, got.Active, got.seq = "", nil, time.Time{}, 0
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}
}

// TestPut: a record counts for what no event has said, and at the end.
func TestPut(t *testing.T) {
	path := event.Path{{SessionID: "s"}}
	running := &record.Record{ID: "s", Path: path, Agent: "a", Status: event.StatusWaitingApproval, Stalled: true, StartedAt: at(1), Steps: 2}
	ended := &record.Record{ID: "s", Path: path, Agent: "a", Status: event.StatusFailed, Error: "why", EndedAt: at(9), Steps: 3, Work: record.Work{ToolCalls: 4, Failed: 1}}
	var tree Tree
	if s := tree.Put(running); s.Status != event.StatusWaitingApproval || !s.Stalled || s.Started != at(1) || s.Steps != 2 {
		t.Errorf("before all events: %+v", s)
	}
	for i, ev := range []event.Event{event.StatusChange{Status: event.StatusStreaming}, event.Usage{}, event.Usage{}} {
		tree.Apply(Event{path, ev, at(2), uint64(i + 1)})
	}
	if s := tree.Put(running); s.Status != event.StatusRunning || s.Stalled || s.Steps != 4 {
		t.Errorf("behind the events: %+v", s)
	}
	if s := tree.Put(ended); s.Status != event.StatusFailed || s.Error != "why" || s.Ended != at(9) || s.Steps != 3 || s.ToolCalls != 4 || s.Failed != 1 {
		t.Errorf("at the end: %+v", s)
	}
	if s := tree.Put(running); s.Status != event.StatusFailed || s.Error != "why" {
		t.Errorf("behind the end: %+v", s)
	}
}

// randomEvents is events of some sessions, each with a number of its own.
func randomEvents(r *rand.Rand) []Event {
	kinds := []func(id string) event.Event{
		func(string) event.Event { return event.SessionStart{AgentType: "a", Description: "d"} },
		func(string) event.Event {
			return event.StatusChange{Status: []event.Status{event.StatusQueued, event.StatusStreaming, event.StatusExecutingTool, event.StatusIdle}[r.IntN(4)]}
		},
		func(string) event.Event { return event.StatusChange{Retry: &event.Retry{Try: r.IntN(3)}} },
		func(string) event.Event { return event.ContentDelta{Delta: fmt.Sprint(r.Int())} },
		func(id string) event.Event { return event.ToolCallStart{ToolCallID: id, ToolName: "grep"} },
		func(id string) event.Event { return event.ToolCallEnd{ToolCallID: id} },
		func(id string) event.Event { return event.ToolApprovalRequired{ApprovalID: id} },
		func(id string) event.Event { return event.ToolApprovalResolved{ApprovalID: id} },
		func(string) event.Event { return event.Usage{InputTokens: 1} },
		func(string) event.Event { return event.Warning{Message: "w"} },
		func(string) event.Event { return event.Stalled{} },
		func(string) event.Event { return event.Unknown{TypeName: "new"} },
		func(id string) event.Event {
			if id != "1" {
				return event.Error{Message: "e"}
			}
			return event.SessionEnd{Status: "completed"}
		},
	}
	events := make([]Event, r.IntN(60))
	for i := range events {
		path := event.Path{{SessionID: "root"}, {SessionID: fmt.Sprint(r.IntN(3)), AgentType: "a"}}[:1+r.IntN(2)]
		events[i] = Event{path, kinds[r.IntN(len(kinds))](fmt.Sprint(r.IntN(3))), at(i), uint64(i + 1)}
	}
	return events
}

// TestAnyPrefix: a tree that has had a prefix of the events, and is given all of them again, is
// the one that gets each once. A second delivery changes nothing.
func TestAnyPrefix(t *testing.T) {
	for seed := range uint64(500) {
		events := randomEvents(rand.New(rand.NewPCG(seed, 0)))
		var once Tree
		for _, e := range events {
			once.Apply(e)
		}
		for cut := range len(events) {
			var again Tree
			for _, e := range events[:cut] {
				again.Apply(e)
			}
			for i, e := range events {
				if s := again.Apply(e); s != nil && i < cut {
					t.Fatalf("seed %d: event %d changed the session a second time", seed, i)
				}
			}
			if !reflect.DeepEqual(once, again) {
				t.Fatalf("seed %d, cut at %d: the sessions differ", seed, cut)
			}
		}
	}
}
