package acpserver

import (
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

// This file alone knows how subagents are shown to a client that declares the capability
// "subagents": by "subagent_update" of the unstable schema of version 1, as
// @agentclientprotocol/sdk 2.4.0 has it. The first one of a subagent announces it to the
// session that has made it; its own updates follow under its own id.

// showsSubagents reports whether the params of initialize declare the capability.
func showsSubagents(initialize json.RawMessage) bool {
	var params struct {
		ClientCapabilities struct {
			Subagents *struct{} `json:"subagents"`
		} `json:"clientCapabilities"`
	}
	return json.Unmarshal(initialize, &params) == nil && params.ClientCapabilities.Subagents != nil
}

// subagentUpdate announces a subagent, or says what has changed of it.
type subagentUpdate struct {
	SessionUpdate string         `json:"sessionUpdate"` // subagent_update
	SessionID     string         `json:"sessionId"`
	Title         string         `json:"title,omitempty"`
	Description   string         `json:"description,omitempty"`
	Cwd           string         `json:"cwd,omitempty"`
	State         *subagentState `json:"state,omitempty"`
}

// subagentState is a StateUpdate.
type subagentState struct {
	State string `json:"state"`
}

// subagentStates are those of the schema for what a session does.
var subagentStates = map[event.Status]string{
	event.StatusStreaming:       "running",
	event.StatusExecutingTool:   "running",
	event.StatusPaused:          "running",
	event.StatusWaitingApproval: "requires_action",
	event.StatusIdle:            "idle",
}

// subagent shows an event of a subagent as one of a session of its own.
func (v *view) subagent(around []event.SubagentEvent, ev event.Event) {
	child, parent := around[len(around)-1], v.id
	if n := len(around); n > 1 {
		parent = around[n-2].SessionID
	}
	if start, ok := ev.(event.SessionStart); ok {
		dir := v.dirOf(child.SessionID)
		v.children[child.SessionID] = &shown{dir: dir}
		v.announce(parent, announcement(child.SessionID, child.AgentType, start.Description, dir, v.opts.Root))
		return
	}
	s := v.children[child.SessionID]
	if s == nil { // it was not announced
		return
	}
	for _, u := range s.updates(ev) {
		v.update(child.SessionID, u)
	}
	state := ""
	switch ev := ev.(type) {
	case event.StatusChange:
		state = subagentStates[ev.Status]
	case event.SessionEnd:
		state = "idle"
		delete(v.children, child.SessionID)
	}
	if state != "" && state != s.state {
		s.state = state
		v.announce(parent, subagentUpdate{SessionID: child.SessionID, State: &subagentState{state}})
	}
}

// announcement is the first update of a subagent, which works in dir.
func announcement(id, agent, description, dir, root string) subagentUpdate {
	u := subagentUpdate{
		SessionID: id, Title: termtext.OneLine(agent, 100), Description: termtext.OneLine(description, 500), State: &subagentState{"unknown"},
	}
	if dir != root {
		u.Cwd = dir
	}
	return u
}

// stateOf is the state of a session that is not followed.
func stateOf(r *store.Record) string {
	switch {
	case r.Status.Ended():
		return "idle"
	case r.Status == store.WaitingApproval:
		return "requires_action"
	}
	return "running"
}

func (c *connection) announce(parent string, u subagentUpdate) {
	u.SessionUpdate = "subagent_update"
	c.update(parent, u)
}
