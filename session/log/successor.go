package log

import (
	"cmp"
	"encoding/json"
)

// agentData says that the session goes on as another agent, or on another model.
type agentData struct {
	Agent string          `json:"agent,omitempty"` // empty means the same, and Terms do not change
	Model string          `json:"model"`
	Terms json.RawMessage `json:"terms,omitempty"` // in place of those before
}

// AgentEntry says that the session goes on as another agent, on a model. terms takes the
// place of what [Record.OpenedEntry] got.
func AgentEntry(agent, model string, terms json.RawMessage) Entry {
	return newEntry(agentKind, agentData{agent, model, terms})
}

// ModelEntry says that the session goes on on another model.
func ModelEntry(model string) Entry { return newEntry(agentKind, agentData{Model: model}) }

// become takes the agent as which the session goes on.
func (f *fold) become(e Entry) error {
	var entry agentData
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return err
	}
	r := &f.Record
	r.Agent, r.Model = cmp.Or(entry.Agent, r.Agent), cmp.Or(entry.Model, r.Model)
	if entry.Agent != "" {
		f.WorkedBefore = f.Worked
		f.Terms = entry.Terms // without any it can't be resumed, rather than as what it was
	}
	return nil
}
