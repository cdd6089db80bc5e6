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
	Results   []model.ToolResult // of the calls; one without the id of its call is missing
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

// takenOver takes what a takeover makes of the log so far: a message that was cut off,
// or of which calls are missing, is not part of the conversation.
func (f *fold) claimed(ev event.SessionResumed) {
	r := &f.Record
	r.Takeovers, r.BootID, r.Stalled = ev.Takeover, ev.BootID, false
	f.Fenced = false // that of the process that has taken it over is the last
	f.Unsettled.add(f.reserved, 1)
	f.draft, f.reserved, f.LastStatus, f.at = nil, nil, "", time.Time{}
	f.unmake()
	f.unmasked = nil // what follows is another process's
	if n := len(f.Sent); r.Agent != "" && f.Answer == nil && n > 0 && f.Sent[n-1].Role == model.Assistant && len(f.Sent[n-1].ToolCalls) == 0 {
		f.Sent = f.Sent[:n-1]
	}
}

// unmake takes back the calls of the last message where some of them are missing: none was
// begun then, since all are in the log before that.
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
	if f.Record.StartedAt.IsZero() || f.LastStatus == event.StatusPaused || f.LastStatus == event.StatusWaitingApproval {
		f.at = time.Time{}
	}
}

// Delivered returns the ids of the messages that the model has been sent, or knows of by the
// result of a call.
func (st *State) Delivered() []string { return slices.Collect(maps.Keys(st.delivered)) }

// HasDelivered reports whether a message is among [State.Delivered].
func (st *State) HasDelivered(id string) bool { return st.delivered[id] }
