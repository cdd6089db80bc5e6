package log

import (
	"cmp"
	"encoding/json"
)

// agentData says that the session continues as another agent, or on another model.
type agentData struct {
	Agent string          `json:"agent,omitempty"` // empty means the same, and Terms do not change
	Model string          `json:"model"`
	Terms json.RawMessage `json:"terms,omitempty"` // they replace the previous ones
}

// become applies a change of the agent or the model.
func (f *fold) become(entry agentData, _ Entry) error {
	r := &f.Record
	r.Agent, r.Model = cmp.Or(entry.Agent, r.Agent), cmp.Or(entry.Model, r.Model)
	if entry.Agent != "" {
		f.WorkedBefore = f.Worked
		f.Terms = entry.Terms // without any it can't be resumed, rather than as what it was
	}
	return nil
}
