package log

import (
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// group is the calls of one message, and their results.
type group struct {
	message *Message
	count   int // how many calls the message has; 0 means it is not known
	results map[string]model.ToolResult
	answer  *Message // has the results; nil means one is missing
}

// called adds a call to its message.
func (f *fold) called(ev event.ToolCallStart, at time.Time) {
	if f.calls[ev.ToolCallID] != nil {
		return
	}
	g := f.groups[ev.MessageID]
	if g == nil || g.answer != nil {
		g = &group{message: f.append(ev.MessageID, at, model.Message{Role: model.Assistant})}
		f.groups[ev.MessageID] = g
	}
	if g.results == nil {
		g.results = make(map[string]model.ToolResult)
		f.order = append(f.order, g)
	}
	g.count, f.steps[ev.MessageID] = ev.Calls, ev.Step
	g.message.ToolCalls = append(g.message.ToolCalls, model.ToolCall{ID: ev.ToolCallID, Name: ev.ToolName, Arguments: ev.Arguments})
	f.calls[ev.ToolCallID] = g
	f.ToolCalls++
	if f.Record.Agent == "" { // a caller's calls are its steps
		f.Record.Steps = max(f.Record.Steps, ev.Step)
	}
}

// answered counts a call, and adds its outcome. The last one completes the message with the
// results.
func (f *fold) answered(ev event.ToolCallEnd, at time.Time) {
	f.Record.Work = f.Record.Work.Add(ev)
	g := f.calls[ev.ToolCallID]
	if g == nil || g.answer != nil {
		return
	}
	g.results[ev.ToolCallID] = model.ToolResult{ToolCallID: ev.ToolCallID, Text: ev.Result, Images: images(ev.Images), IsError: ev.IsError}
	calls := g.message.ToolCalls
	if len(g.results) < len(calls) {
		return
	}
	results := make([]model.ToolResult, len(calls))
	for i, call := range calls {
		results[i] = g.results[call.ID]
	}
	g.answer = f.append(ResultsID(g.message.ID), at, model.Message{Role: model.User, ToolResults: results})
}
