package page

import (
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// Row is what the page shows of a session in its tree. It is made of the session's
// record and of its events: of one that runs, of all of them; of one that has ended, of
// the record alone.
type Row struct {
	ID       string       `json:"id"`
	ParentID string       `json:"parentId,omitempty"`
	Root     string       `json:"root"`            // the session at the top of its tree
	Agent    string       `json:"agent,omitempty"` // empty means it stands for a caller
	Label    string       `json:"label,omitempty"`
	Model    string       `json:"model,omitempty"`
	Status   store.Status `json:"status"`
	Doing    event.Status `json:"doing,omitempty"` // as its last status_change says; empty means it has ended
	Tool     string       `json:"tool,omitempty"`  // the call that began last, while calls run: its name and what it is about
	Error    string       `json:"error,omitempty"`

	CreatedAt int64 `json:"createdAt"`         // in ms since 1970, as all times
	StartedAt int64 `json:"startedAt"`         // 0 means it waits for a slot
	EndedAt   int64 `json:"endedAt,omitempty"` // 0 means it has not ended
	ActiveAt  int64 `json:"activeAt"`          // of its last event

	Steps     int         `json:"steps"`
	Calls     int         `json:"calls"`
	Failed    int         `json:"failed,omitempty"`
	Usage     model.Usage `json:"usage"`
	Budget    *budget     `json:"budget,omitempty"`
	Pause     *pause      `json:"pause,omitempty"`
	Stalled   bool        `json:"stalled,omitempty"`
	Todo      string      `json:"todo,omitempty"`
	Warnings  []string    `json:"warnings,omitempty"`
	Worktree  string      `json:"worktree,omitempty"` // the branch that it works on
	Detached  bool        `json:"detached,omitempty"`
	Resumes   string      `json:"resumes,omitempty"`
	Beside    bool        `json:"background,omitempty"`
	Revision  uint64      `json:"-"` // of the hub, when the row has changed last
	seq       uint64      // of the last event that the row has
	open      []openCall  // the calls without an outcome
	unindexed int         // how often its record is still to be asked for
}

type openCall struct{ id, summary string }

// budget is how much of a budget is used. Events tell it at 80 and at 100 percent; of the
// sessions of this process the hub asks.
type budget struct {
	Limit   string `json:"limit"`
	Used    string `json:"used"`
	Max     string `json:"max"`
	Percent int    `json:"percent"`
}

func budgetOf(ev event.Budget) *budget {
	return &budget{ev.Limit, ev.Used.String(), ev.Max.String(), ev.Percent}
}

type pause struct {
	Until  int64  `json:"until"`
	Reason string `json:"reason"`
}

// Bounds of what a row shows, in characters.
const (
	maxLabel   = 200
	maxSummary = 160
	maxReason  = 300
)

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// take makes the row what a record says. Of a session that runs its events say more.
func (r *Row) take(rec *store.Record) {
	r.ID, r.ParentID, r.Root = rec.ID, rec.ParentID, rec.Path[0].SessionID
	r.Agent, r.Model = rec.Agent, rec.Model
	if r.Label = rec.Label; r.Label == "" {
		r.Label = rec.Description
	}
	r.Label = termtext.OneLine(r.Label, maxLabel)
	r.CreatedAt = millis(rec.CreatedAt)
	r.Detached, r.Beside, r.Resumes = rec.Detached, rec.Background, rec.Resumes
	if rec.Worktree != nil {
		r.Worktree = rec.Worktree.Branch
	}
	if len(rec.Warnings) > 0 {
		r.Warnings = rec.Warnings
	}
	if !rec.Status.Ended() {
		if r.Status == "" {
			r.Status, r.StartedAt = rec.Status, millis(rec.StartedAt)
		}
		r.ActiveAt = max(r.ActiveAt, r.CreatedAt)
		return
	}
	r.end(rec.Status, rec.EndedAt)
	r.StartedAt = millis(rec.StartedAt)
	r.Error = termtext.OneLine(rec.Error, maxReason)
	r.Steps, r.Usage = rec.Steps, rec.Usage
	r.Calls, r.Failed = rec.Work.ToolCalls, rec.Work.Failed
	if rec.Todo != nil {
		r.Todo = rec.Todo.String()
	}
}

// end makes the row that of a session that has ended.
func (r *Row) end(as store.Status, at time.Time) {
	r.Status, r.EndedAt = as, millis(at)
	r.ActiveAt = max(r.ActiveAt, r.EndedAt)
	r.Doing, r.Tool, r.Pause, r.Stalled, r.open = "", "", nil, false, nil
}

// apply adds what an event of the session says.
func (r *Row) apply(seq uint64, at time.Time, ev event.Event) {
	if seq <= r.seq || r.EndedAt != 0 {
		return
	}
	r.seq = seq
	r.ActiveAt = millis(at)
	if _, stalled := ev.(event.Stalled); !stalled {
		r.Stalled = false
	}
	switch ev := ev.(type) {
	case event.SessionStart:
		r.Agent, r.Model, r.ParentID, r.Resumes = ev.AgentType, ev.Model, ev.ParentID, ev.Resumes
		if r.Label == "" {
			r.Label = termtext.OneLine(ev.Description, maxLabel)
		}
		if r.CreatedAt == 0 {
			r.CreatedAt = millis(at)
		}
	case event.StatusChange:
		r.change(ev, at)
	case event.ToolCallStart:
		r.open = append(r.open, openCall{ev.ToolCallID, termtext.OneLine(named(ev.Summary()), maxSummary)})
		r.Tool = r.open[len(r.open)-1].summary
		r.Calls++
	case event.ToolCallEnd:
		r.open = slices.DeleteFunc(r.open, func(c openCall) bool { return c.id == ev.ToolCallID })
		if r.Tool = ""; len(r.open) > 0 {
			r.Tool = r.open[len(r.open)-1].summary
		}
		if ev.IsError {
			r.Failed++
		}
	case event.Usage:
		r.Steps++
		r.Usage = r.Usage.Add(model.Usage(ev))
	case event.Budget:
		r.Budget = budgetOf(ev)
	case event.Stalled:
		r.Stalled = true
	case event.MovedToBackground:
		r.Beside = true
	case event.Todo:
		if r.Todo = ""; len(ev.Items) > 0 {
			r.Todo = termtext.OneLine(store.ProgressOf(ev).String(), maxLabel)
		}
	case event.Warning:
		if len(r.Warnings) < 20 {
			r.Warnings = append(slices.Clip(r.Warnings), termtext.OneLine(ev.Message, maxReason))
		}
	case event.Error:
		r.Error = termtext.OneLine(ev.Message, maxReason)
	case event.SessionEnd:
		r.end(store.Status(ev.Status), at)
	}
}

func (r *Row) change(ev event.StatusChange, at time.Time) {
	r.Doing, r.Pause = ev.Status, nil
	switch ev.Status {
	case event.StatusQueued:
		r.Status = store.Queued
		return
	case event.StatusWaitingApproval:
		r.Status = store.WaitingApproval
	default:
		r.Status = store.Running
	}
	if ev.Pause != nil {
		r.Pause = &pause{millis(ev.Pause.Until), termtext.OneLine(ev.Pause.Reason, maxReason)}
	}
	if r.StartedAt == 0 {
		r.StartedAt = millis(at)
	}
}
