package acpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
)

// maxReplayed is how many subagents of a conversation are shown with their transcripts.
// Further ones are announced.
const maxReplayed = 100

// replay shows a conversation up to its newest session, with its subagents where the client
// shows these as sessions.
func (t *talk) replay(ctx context.Context, newest *record.Record) error {
	messages, err := t.opts.Sessions.Transcripts.Messages(ctx, newest.ID)
	if err != nil {
		return err
	}
	r := &replay{talk: t, left: maxReplayed}
	if t.is.Load().subagents {
		if r.below, err = t.below(ctx, newest); err != nil {
			return err
		}
	}
	return r.session(ctx, t.id, t.opts.Root, messages)
}

// below returns the sessions below those of a conversation, the oldest first, by the message
// whose call has made them.
func (t *talk) below(ctx context.Context, newest *record.Record) (map[string][]*record.Record, error) {
	below := make(map[string][]*record.Record)
	for run := newest; ; {
		tree, err := t.opts.Sessions.Index.Tree(ctx, run.Path)
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(tree) {
			if r.ParentMessageID != "" {
				below[r.ParentMessageID] = append(below[r.ParentMessageID], r)
			}
		}
		if run.Resumes == "" {
			return below, nil
		}
		run, err = t.opts.Sessions.Index.Get(ctx, run.Resumes)
		if errors.Is(err, record.ErrNotFound) { // it was deleted
			return below, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// replay is a conversation that is shown again.
type replay struct {
	*talk
	below map[string][]*record.Record // subagents that are not shown yet, by the message whose call has made them
	left  int                         // how many are shown with their transcripts
}

// session shows the messages of a session with an id of the protocol.
func (r *replay) session(ctx context.Context, id, dir string, messages []*log.Message) error {
	s := &shown{dir: dir}
	show := func(updates ...acp.SessionUpdate) {
		for _, u := range updates {
			r.update(id, u)
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
		made := r.below[m.ID]
		delete(r.below, m.ID)
		for _, child := range made {
			if err := r.subagent(ctx, id, child); err != nil {
				return err
			}
		}
	}
	for id, tool := range open {
		show(s.updates(event.ToolCallEnd{ToolCallID: id, ToolName: tool, Result: "[interrupted]", IsError: true})...)
	}
	return nil
}

// subagent announces a subagent to the session that has made it, and shows it.
func (r *replay) subagent(ctx context.Context, parent string, of *record.Record) error {
	dir := dirOf(of, r.opts.Root)
	r.announce(parent, announcement(of.ID, of.Agent, of.Description, dir, r.opts.Root))
	if r.left > 0 {
		r.left--
		messages, err := r.opts.Sessions.Transcripts.Messages(ctx, of.ID)
		if err != nil && !errors.Is(err, record.ErrNotFound) { // it was deleted meanwhile
			return err
		}
		if err := r.session(ctx, of.ID, dir, messages); err != nil {
			return err
		}
	}
	r.announce(parent, subagentUpdate{SessionID: of.ID, State: &subagentState{cmp.Or(stateOf(of.Status), "running")}})
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
