package acpserver

import (
	"encoding/json"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// Only this file knows how a client that declares the capability "subagents" is shown
// subagents: by "subagent_update" of the unstable schema of version 1, as in
// @agentclientprotocol/sdk 2.4.0. The first one announces a subagent to the session that made
// it. The subagent's updates follow under its own id.

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

// announcement is the first update of a subagent, which works in dir.
func announcement(id, agent, description, dir, root string) subagentUpdate {
	u := subagentUpdate{
		SessionID: id, Title: termtext.OneLine(agent, termtext.MaxTitle), Description: termtext.OneLine(description, termtext.MaxLine), State: &subagentState{"unknown"},
	}
	if dir != root {
		u.Cwd = dir
	}
	return u
}

// stateOf is the state of the schema for what a session does; empty means there is none.
func stateOf(s event.Status) string {
	switch {
	case s.Ended(), s == event.StatusIdle:
		return "idle"
	case s.Waiting():
		return "requires_action"
	case s.Recorded() == event.StatusRunning:
		return "running"
	}
	return ""
}
