package page

import (
	"slices"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
)

// Row is what the page shows of a session in its tree.
type Row struct {
	ID       string           `json:"id"`
	ParentID string           `json:"parentId,omitempty"`
	Root     string           `json:"root"`            // the session at the top of its tree
	Agent    string           `json:"agent,omitempty"` // empty means a caller
	Label    string           `json:"label,omitempty"`
	Model    string           `json:"model,omitempty"`
	Status   record.Status    `json:"status"`
	Reason   event.StopReason `json:"stopReason,omitempty"`
	Doing    event.Status     `json:"doing,omitempty"` // as its last status_change says; empty means it has ended
	Tool     string           `json:"tool,omitempty"`  // of the calls that run, the latest: its tool and what it is about
	Error    string           `json:"error,omitempty"`

	CreatedAt int64 `json:"createdAt"`         // in ms since 1970, as all times
	StartedAt int64 `json:"startedAt"`         // 0 means it waits for a slot
	EndedAt   int64 `json:"endedAt,omitempty"` // 0 means it has not ended
	ActiveAt  int64 `json:"activeAt"`          // of its last event

	Steps      int         `json:"steps"`
	Calls      int         `json:"calls"`
	Failed     int         `json:"failed,omitempty"`
	Usage      model.Usage `json:"usage"`
	Budget     *budget     `json:"budget,omitempty"`
	Pause      *pause      `json:"pause,omitempty"`
	Stalled    bool        `json:"stalled,omitempty"`
	Todo       string      `json:"todo,omitempty"`
	Warnings   []string    `json:"warnings,omitempty"`
	Reviews    []string    `json:"reviews,omitempty"`
	Worktree   string      `json:"worktree,omitempty"` // the branch that it works on
	Detached   bool        `json:"detached,omitempty"`
	Resumes    string      `json:"resumes,omitempty"`
	Background bool        `json:"background,omitempty"`
	Commands   []command   `json:"commands,omitempty"` // that go on in its background
	WaitsFor   bool        `json:"waitsFor,omitempty"` // a call of it waits for a command of the shell
}

// budget is how much of a budget is used.
type budget struct {
	Limit   string `json:"limit"`
	Used    string `json:"used"`
	Max     string `json:"max"`
	Percent int    `json:"percent"`
}

// command is a command in the background of a session.
type command struct {
	ID    string `json:"id"`
	Line  string `json:"line"`
	Since int64  `json:"since"`
	Last  string `json:"last,omitempty"` // the last line that it has written
	Bytes int64  `json:"bytes"`
	Waits bool   `json:"waits,omitempty"` // for input
}

type pause struct {
	Until  int64  `json:"until"`
	Reason string `json:"reason"`
}

// newRow renders a session.
func newRow(s *live.Session) *Row {
	r := &Row{
		ID: s.ID, ParentID: s.ParentID, Root: s.Path[0].SessionID, Agent: s.Agent, Label: termtext.OneLine(s.Label, termtext.MaxLabel), Model: s.Model,
		Status: s.Status, Reason: s.Reason, Doing: s.Activity, Error: termtext.OneLine(s.Error, termtext.MaxCause),
		CreatedAt: millis(s.Created), StartedAt: millis(s.Started), EndedAt: millis(s.Ended),
		ActiveAt: max(millis(s.Active), millis(s.Created), millis(s.Ended)),
		Steps:    s.Steps, Calls: s.ToolCalls, Failed: s.Failed, Usage: s.Usage,
		Stalled: s.Stalled, Warnings: slices.Clone(s.Warnings), Reviews: slices.Clone(s.Reviews), Worktree: s.Worktree, Detached: s.Detached, Resumes: s.Resumes, Background: s.Background,
	}
	if n := len(s.Calls); n > 0 {
		r.Tool = termtext.OneLine(named(s.Calls[n-1].Summary), termtext.MaxCall)
	}
	r.WaitsFor = slices.ContainsFunc(s.Calls, func(c live.Call) bool { return c.Tool == toolcatalog.ShellExec })
	for _, c := range s.Commands {
		r.Commands = append(r.Commands, command{c.ID, named(c.Line), millis(c.Since), named(c.Last), c.Bytes, c.Waits})
	}
	if b := s.Budget; b != nil {
		r.Budget = &budget{b.Limit, b.Used.String(), b.Max.String(), b.Percent}
	}
	if s.Pause != nil {
		r.Pause = &pause{millis(s.Pause.Until), termtext.OneLine(s.Pause.Reason, termtext.MaxCause)}
	}
	if s.Todo != nil {
		r.Todo = termtext.OneLine(s.Todo.String(), termtext.MaxLabel)
	}
	return r
}

// millis is a time as browsers have it; 0 means there is none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
