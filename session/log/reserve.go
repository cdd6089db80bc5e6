package log

import (
	"github.com/agentworker/worker/model"
)

// Totals is what a session has used, as its log tells.
type Totals struct {
	ID        string      `json:"id,omitempty"` // of the session
	Usage     model.Usage `json:"usage"`
	Steps     int         `json:"steps"`
	ToolCalls int64       `json:"toolCalls"`
	Unsettled Unsettled   `json:"unsettled,omitzero"`
}

// Totals returns what the session has used.
func (st *State) Totals() Totals {
	return Totals{st.Record.ID, st.Record.Usage, st.Record.Steps, st.ToolCalls, st.Unsettled}
}

// Unsettled is what model calls without reported usage may have used.
type Unsettled struct {
	ModelCalls int64 // besides those in [record.Record.Steps]
	Tokens     int64
	Cost       int64 // in billionths of a US dollar
}

func (u *Unsettled) add(r *reserveData, calls int64) {
	if r != nil {
		u.ModelCalls, u.Tokens, u.Cost = u.ModelCalls+calls, u.Tokens+r.Tokens, u.Cost+r.Cost
	}
}

// reserve applies what was set aside for a call. If the previous call has not reported its
// usage, what was set aside for it stays unsettled.
func (f *fold) reserve(entry reserveData, _ Entry) error {
	if entry == (reserveData{}) {
		f.reserved = nil
		return nil
	}
	f.Unsettled.add(f.reserved, 1)
	f.reserved = &entry
	return nil
}
