package acpserver

import (
	"context"
	"encoding/json"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// replay shows a conversation up to its newest session.
func (t *talk) replay(ctx context.Context, newest *store.Record) error {
	messages, err := t.opts.Sessions.Messages(ctx, newest.ID)
	if err != nil {
		return err
	}
	s := &shown{dir: t.opts.Root}
	show := func(updates ...acp.SessionUpdate) {
		for _, u := range updates {
			t.update(t.id, u)
		}
	}
	open := make(map[string]string) // tools of calls without an outcome, by the calls' ids
	for _, m := range messages {
		for _, r := range m.ToolResults {
			show(s.updates(event.ToolCallEnd{ToolCallID: r.ToolCallID, ToolName: open[r.ToolCallID], Result: r.Text, IsError: r.IsError})...)
			delete(open, r.ToolCallID)
		}
		if m.Role == model.User {
			if m.Text != "" && len(m.ToolResults) == 0 {
				show(acp.UpdateUserMessageText(m.Text))
			}
			continue
		}
		for _, r := range m.Reasoning {
			if r.Text != "" {
				show(acp.UpdateAgentThoughtText(r.Text))
			}
		}
		if m.Text != "" {
			show(acp.UpdateAgentMessageText(m.Text))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = c.Name
			show(s.updates(event.ToolCallStart{ToolCallID: c.ID, ToolName: c.Name, Arguments: c.Arguments})...)
			show(s.updates(planOf(c))...)
		}
	}
	for id, tool := range open {
		show(s.updates(event.ToolCallEnd{ToolCallID: id, ToolName: tool, Result: "[interrupted]", IsError: true})...)
	}
	return nil
}

// planOf is the list or the plan that a call has given; nil means the call is no such.
func planOf(c model.ToolCall) event.Event {
	var todo event.Todo
	var plan event.Plan
	switch {
	case c.Name == todo.Type() && json.Unmarshal([]byte(c.Arguments), &todo) == nil:
		return todo
	case c.Name == plan.Type() && json.Unmarshal([]byte(c.Arguments), &plan) == nil:
		return plan
	}
	return nil
}
