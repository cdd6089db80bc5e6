package log

import (
	"maps"
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
)

// Repeat is the result of a call that was cut off and has changed nothing.
const Repeat = "[interrupted: the process ended during this call, which changes nothing. Make it again if you need its result.]"

// Step is a step of an agent's session that was cut off while its calls ran.
type Step struct {
	MessageID string
	Calls     []model.ToolCall
	Results   []model.ToolResult // of the calls; one without a call id is missing
}

// Step returns the step in which the session was cut off; nil means in none.
func (st *State) Step() *Step {
	if len(st.Sent) == 0 {
		return nil
	}
	m := st.Sent[len(st.Sent)-1]
	if m.Role != model.Assistant || st.cut[m.ID] == nil {
		return nil
	}
	return &Step{m.ID, m.ToolCalls, st.cut[m.ID]}
}

// claimed applies a claim by another process. A message that was cut off, or lacks calls,
// is not part of the conversation.
func (f *fold) claimed(ev event.SessionResumed, _ time.Time) {
	r := &f.Record
	r.Takeovers, r.BootID, r.Stalled, r.Total = ev.Takeover, ev.BootID, false, nil
	if ev.HandedOver {
		r.HandOvers++
	}
	f.Fenced = false // the last fence is by the process that has claimed it
	f.Unsettled.add(f.reserved, 1)
	f.draft, f.reserved, f.LastStatus, f.at = nil, nil, "", time.Time{}
	f.unmake()
	f.unmasked = nil // another process writes what follows
	if n := len(f.Sent); r.Agent != "" && f.Answer == nil && n > 0 && f.Sent[n-1].Role == model.Assistant && len(f.Sent[n-1].ToolCalls) == 0 {
		f.Sent = f.Sent[:n-1]
	}
}

// unmake removes the calls of the last message if some of them are missing. None was begun
// then, since a call begins after all of them are in the log.
func (f *fold) unmake() {
	if len(f.order) == 0 {
		return
	}
	last := len(f.order) - 1
	g := f.order[last]
	if len(g.message.ToolCalls) >= g.count {
		return
	}
	for _, call := range g.message.ToolCalls {
		delete(f.calls, call.ID)
	}
	g.message.ToolCalls, g.results, f.order = nil, nil, f.order[:last]
}

// pass counts the time up to an entry as worked, unless the session waited or had no
// process.
func (f *fold) pass(at time.Time) {
	if !f.at.IsZero() && at.After(f.at) {
		f.Worked += at.Sub(f.at)
	}
	f.at = at
	if f.Record.StartedAt.IsZero() || f.LastStatus.Untimed() {
		f.at = time.Time{}
	}
}

// Delivered returns the ids of the messages that the model has read, directly or by the
// result of a call.
func (st *State) Delivered() []string { return slices.Collect(maps.Keys(st.delivered)) }

// HasDelivered reports whether a message is among [State.Delivered].
func (st *State) HasDelivered(id string) bool { return st.delivered[id] }
