package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
	"github.com/agentworker/worker/session/record"
)

// The kinds of messages, as the setting has them in "on".
const (
	asked   = "question" // a call, or an agent's question, waits for an answer
	stalled = "stalled"  // nothing has happened in a session for long
	budget  = "budget"   // of a budget 80 % are used, or all
	ended   = "ended"    // a task has ended, in whatever way
	failed  = "failed"   // a task has ended, and was neither completed nor cancelled
)

// Kinds returns the kinds of messages.
func Kinds() []string { return []string{asked, stalled, budget, ended, failed} }

// Message is what people are told: "data" of a webhook. Its texts hold no credential, and nothing
// that is invisible.
type Message struct {
	ID         string    `json:"id"` // of the event: the same in each try
	Kind       string    `json:"kind"`
	At         time.Time `json:"at"`
	Workspace  string    `json:"workspace"`
	SessionID  string    `json:"sessionId"`
	Agents     []string  `json:"agents"` // from the outermost down to the session's
	Title      string    `json:"title"`
	Text       string    `json:"text,omitempty"` // in lines
	Status     string    `json:"status,omitempty"`
	ApprovalID string    `json:"approvalId,omitempty"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"` // of the question
	Link       string    `json:"link,omitempty"`     // to the question's card
}

// builders make messages of events, by type. A nil message means that the target wants none.
var builders = map[string]func(n *Notifier, ctx context.Context, ev eventbus.Placed, on []string) (*Message, error){
	event.ToolApprovalRequired{}.Type(): questionMessage(func(e event.ToolApprovalRequired) string { return e.ApprovalID }),
	event.QuestionAsked{}.Type():        questionMessage(func(e event.QuestionAsked) string { return e.QuestionID }),
	event.Stalled{}.Type():              sessionMessage(stalled, stalledTitle),
	event.Budget{}.Type():               sessionMessage(budget, budgetTitle),
	event.SessionEnd{}.Type():           endMessage,
}

// message returns the message for a target that wants the kinds of on; nil means it wants none.
func (n *Notifier) message(ctx context.Context, ev eventbus.Placed, on []string) (*Message, error) {
	build := builders[event.TypeOf(ev.Raw)]
	if build == nil {
		return nil, nil
	}
	m, err := build(n, ctx, ev, on)
	if m == nil || err != nil {
		return nil, err
	}
	m.ID = fmt.Sprintf("evt_%s_%d", n.opts.Bus.Workspace(), ev.Seq)
	m.At, m.Workspace, m.SessionID = ev.Time.UTC(), n.opts.Workspace, ev.Sessions[len(ev.Sessions)-1]
	m.Title, m.Text = secrets.Mask(m.Title), secrets.Mask(m.Text)
	return m, nil
}

// questionMessage returns the builder for a type of event that says that a question is open.
func questionMessage[E event.Event](id func(E) string) func(*Notifier, context.Context, eventbus.Placed, []string) (*Message, error) {
	return func(n *Notifier, ctx context.Context, ev eventbus.Placed, on []string) (*Message, error) {
		var e E
		if !slices.Contains(on, asked) || json.Unmarshal(ev.Raw, &e) != nil {
			return nil, nil
		}
		a, err := n.open(ctx, id(e))
		if a == nil || err != nil {
			return nil, err
		}
		view := question.New(a, question.Notice)
		view.Always = nil // the person of a link answers this one call
		lines := view.Lines()
		return &Message{
			Kind: asked, Agents: agents(a.Path), Title: lines[0], Text: strings.Join(lines[1:], "\n"),
			ApprovalID: a.ID, ExpiresAt: a.ExpiresAt,
		}, nil
	}
}

// open returns the question of an id; nil means that it needs no answer any more.
func (n *Notifier) open(ctx context.Context, id string) (*approval.Approval, error) {
	a, err := n.opts.Sessions.Approvals.Get(ctx, id)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return nil, nil // its session was deleted
	case err != nil:
		return nil, err
	case a.ID != id || a.Outcome != "" || time.Now().After(a.ExpiresAt):
		return nil, nil
	}
	return a, nil
}

// sessionMessage returns the builder for a type of event whose kind is about one session.
func sessionMessage[E event.Event](kind string, title func(e E, who string) string) func(*Notifier, context.Context, eventbus.Placed, []string) (*Message, error) {
	return func(n *Notifier, ctx context.Context, ev eventbus.Placed, on []string) (*Message, error) {
		var e E
		if !slices.Contains(on, kind) || json.Unmarshal(ev.Raw, &e) != nil {
			return nil, nil
		}
		r, err := n.record(ctx, ev.Sessions[len(ev.Sessions)-1])
		if r == nil || err != nil {
			return nil, err
		}
		return &Message{Kind: kind, Agents: agents(r.Path), Title: title(e, who(r)), Text: described(r)}, nil
	}
}

func stalledTitle(e event.Stalled, who string) string {
	title := who + " has done nothing for " + errtext.Duration(time.Duration(e.IdleMs)*time.Millisecond)
	if e.StopsInMs > 0 {
		title += ". It is stopped in " + errtext.Duration(time.Duration(e.StopsInMs)*time.Millisecond)
	}
	return title
}

func budgetTitle(e event.Budget, who string) string {
	return fmt.Sprintf("%s has used %s of %s %s (%d %%, set by %s)", who, e.Used, e.Max, e.Limit, e.Percent, termtext.OneLine(e.SetBy, termtext.MaxLabel))
}

// endMessage is of the end of a task: of a session that a caller has asked for, or of a
// conversation.
func endMessage(n *Notifier, ctx context.Context, ev eventbus.Placed, on []string) (*Message, error) {
	var e event.SessionEnd
	if json.Unmarshal(ev.Raw, &e) != nil || len(ev.Sessions) > 2 {
		return nil, nil
	}
	kind := ended
	if e.Status != event.StatusCompleted && e.Status != event.StatusCancelled && slices.Contains(on, failed) {
		kind = failed
	}
	if !slices.Contains(on, kind) {
		return nil, nil
	}
	root, err := n.record(ctx, ev.Sessions[0])
	if root == nil || err != nil {
		return nil, err
	}
	if isTask := (len(ev.Sessions) == 2) == (root.Agent == ""); !isTask {
		return nil, nil
	}
	r, err := n.record(ctx, ev.Sessions[len(ev.Sessions)-1])
	if r == nil || err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%s is %s", who(r), e.Status)
	if e.StopReason != "" && e.Status != event.StatusCompleted {
		title += fmt.Sprintf(" (%s)", e.StopReason)
	}
	return &Message{Kind: kind, Agents: agents(r.Path), Title: title, Text: described(r), Status: string(e.Status)}, nil
}

// record returns the record of a session; nil means that it was deleted.
func (n *Notifier) record(ctx context.Context, id string) (*record.Record, error) {
	if id == event.WorkspaceStream {
		return nil, nil
	}
	r, err := n.opts.Sessions.Index.Get(ctx, id)
	if errors.Is(err, record.ErrNotFound) {
		return nil, nil
	}
	return r, err
}

func agents(path event.Path) []string {
	names := []string{}
	for _, hop := range path {
		if hop.AgentType != "" {
			names = append(names, termtext.OneLine(hop.AgentType, termtext.MaxName))
		}
	}
	return names
}

func who(r *record.Record) string {
	if names := agents(r.Path); len(names) > 0 {
		return strings.Join(names, " › ")
	}
	return "a caller"
}

// described says in a line what a session is to do.
func described(r *record.Record) string { return termtext.OneLine(r.Description, termtext.MaxText) }
