package control

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// State is how a subagent is at the moment.
type State struct {
	SessionID string        `json:"sessionId"`
	ParentID  string        `json:"parentId,omitempty"`
	Agent     string        `json:"agent"`
	Label     string        `json:"label,omitempty"` // what it is to do, in a few words
	Role      string        `json:"role,omitempty"`  // as what it works, where that was changed
	Model     string        `json:"model,omitempty"`
	Status    record.Status `json:"status"`
	Pause     *record.Pause `json:"pause,omitempty"`   // it waits for the provider of its model
	Stalled   bool          `json:"stalled,omitempty"` // nothing has happened for long
	Tool      string        `json:"tool,omitempty"`    // that it runs now

	Todo *record.Progress `json:"todo,omitempty"` // by its own list; nil means it keeps none

	IdleMs    int64       `json:"idleMs,omitempty"` // since its last event, while it runs
	Steps     int         `json:"steps"`
	Usage     event.Usage `json:"usage"`     // without a cost: it is not known
	ElapsedMs int64       `json:"elapsedMs"` // since it has begun to run, or up to its end
	Error     string      `json:"error,omitempty"`
}

// state returns how the session of a record is.
func (c *Control) state(ctx context.Context, r *record.Record) (State, error) {
	now := time.Now()
	s := State{
		SessionID: r.ID,
		ParentID:  r.ParentID,
		Agent:     r.Agent,
		Label:     cmp.Or(r.Label, r.Description),
		Role:      r.Role,
		Model:     r.Model,
		Status:    r.Status,
		Pause:     r.Pause,
		Stalled:   r.Stalled,
		Steps:     r.Steps,
		Usage:     event.Usage(r.Usage),
		ElapsedMs: r.Duration(now).Milliseconds(),
		Error:     r.Error,
		Todo:      r.Todo,
	}
	if r.Status.Ended() {
		return s, nil
	}
	activity, err := c.store.Index.Activity(ctx, r)
	if err != nil {
		return s, err
	}
	s.Tool = activity.Tool
	if !activity.At.IsZero() {
		s.IdleMs = max(0, now.Sub(activity.At).Milliseconds())
	}
	return s, nil
}

func (c *Control) states(ctx context.Context, records []*record.Record) ([]State, error) {
	states := make([]State, 0, len(records))
	for _, r := range records {
		s, err := c.state(ctx, r)
		if err != nil {
			return nil, err
		}
		states = append(states, s)
	}
	return states, nil
}

// line is the state in a line for a model.
func (s *State) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s, session %s", cmp.Or(termtext.OneLine(s.Agent, maxAgentName), "a caller"), s.SessionID)
	if s.Label != "" {
		fmt.Fprintf(&b, " (%s)", clean(termtext.OneLine(s.Label, termtext.MaxTitle)))
	}
	if s.Role != "" {
		fmt.Fprintf(&b, " as %q", clean(termtext.OneLine(s.Role, termtext.MaxTitle)))
	}
	fmt.Fprintf(&b, ": %s", s.Status)
	if s.Todo != nil {
		fmt.Fprintf(&b, ", %s", clean(s.Todo.String()))
	}
	if s.Pause != nil {
		fmt.Fprintf(&b, ", paused until %s (%s)", s.Pause.Until.Format(time.RFC3339), clean(termtext.OneLine(s.Pause.Reason, termtext.MaxLabel)))
	}
	if s.Stalled {
		b.WriteString(", stalled")
	}
	if s.Tool != "" {
		fmt.Fprintf(&b, ", runs %s", termtext.OneLine(s.Tool, maxAgentName))
	}
	if !s.Status.Ended() {
		fmt.Fprintf(&b, ", last active %s ago", seconds(s.IdleMs))
	}
	fmt.Fprintf(&b, ", %d steps, %d tokens in and %d out, cost %s, %s", s.Steps, s.Usage.InputTokens, s.Usage.OutputTokens,
		model.Usage(s.Usage).ShowCost(), seconds(s.ElapsedMs))
	return b.String()
}

// seconds is a time for a model: whole seconds.
func seconds(ms int64) string {
	return errtext.Duration((time.Duration(ms) * time.Millisecond).Round(time.Second))
}

// lines are states for a model.
func lines(states []State) string {
	var b strings.Builder
	for i := range states {
		b.WriteString(states[i].line() + "\n")
	}
	return b.String()
}

// listInput is what task_list takes.
type listInput struct {
	Running bool `json:"running"`
	Offset  int  `json:"offset"`
}

func (in *listInput) Sessions() []string { return nil }

func (in *listInput) Check() error {
	if in.Offset < 0 {
		return fmt.Errorf("offset %d is below 0", in.Offset)
	}
	return nil
}

// maxListed is how many subagents task_list shows at once.
const maxListed = 50

// List is the answer of task_list.
type List struct {
	Sessions   []State `json:"sessions"`             // the newest first
	Total      int     `json:"total"`                // how many there are
	NextOffset int     `json:"nextOffset,omitempty"` // where the list goes on; 0 means this is its end
}

func (in *listInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	var found []*record.Record
	all, err := c.all(ctx, scope)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if !in.Running || !r.Status.Ended() {
			found = append(found, r)
		}
	}
	list := &List{Total: len(found)}
	shown := found[min(in.Offset, len(found)):]
	if len(shown) > maxListed {
		shown, list.NextOffset = shown[:maxListed], in.Offset+maxListed
	}
	list.Sessions, err = c.states(ctx, shown)
	return list, err
}

// First returns the first n sessions of the list, and where it goes on.
func (l *List) First(n int) *List {
	if n >= len(l.Sessions) {
		return l
	}
	end := l.NextOffset - len(l.Sessions)
	if l.NextOffset == 0 {
		end = l.Total - len(l.Sessions)
	}
	return &List{Sessions: l.Sessions[:n], Total: l.Total, NextOffset: end + n}
}

// Answer implements [Answer].
func (l *List) Answer() string {
	text := fmt.Sprintf("%d subagents:\n%s", l.Total, lines(l.Sessions))
	if l.Total == 0 {
		text = "There are no subagents."
	}
	if l.NextOffset > 0 {
		text += fmt.Sprintf("task_list with offset %d goes on.", l.NextOffset)
	}
	return strings.TrimSpace(text)
}
