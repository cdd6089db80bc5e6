package acpserver

import (
	"cmp"
	"context"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/live"
)

// renderer shows the stream of one session to the client. It is for one goroutine.
type renderer struct {
	*talk
	ctx       context.Context // ends with the stream
	below     *sync.WaitGroup // waits for the questions
	root      *shown
	tree      live.Tree
	questions map[string]context.CancelFunc // by the id of the approval
	asked     map[string]bool               // calls of subagents that the client knows by questions

	children  map[string]*shown // subagents by their ids, where the client shows them as sessions
	delegates *delegates        // else; nil means it does
}

func newRenderer(ctx context.Context, t *talk, below *sync.WaitGroup) *renderer {
	v := &renderer{
		talk: t, ctx: ctx, below: below, root: &shown{dir: t.opts.Root},
		questions: make(map[string]context.CancelFunc), asked: make(map[string]bool),
	}
	if t.is.Load().subagents {
		v.children = make(map[string]*shown)
	} else {
		v.delegates = newDelegates()
	}
	return v
}

// show shows an event, or keeps it for flush. What can't be read can't be shown.
func (v *renderer) show(d eventbus.Delivery) {
	e, err := live.Decode(v.id, d.Raw, d.Time, d.Seq)
	if err != nil {
		return
	}
	s := v.tree.Apply(e)
	if s == nil {
		return
	}
	child := len(e.Path) > 1
	switch ev := e.Event.(type) {
	case event.ToolApprovalRequired:
		v.ask(e.Path, ev.ApprovalID, ev.ToolCallID)
	case event.ToolApprovalResolved:
		v.withdraw(ev.ApprovalID)
	case event.QuestionAsked:
		v.ask(e.Path, ev.QuestionID, ev.ToolCallID)
	case event.QuestionAnswered:
		v.withdraw(ev.QuestionID)
	case event.AgentChanged:
		if !child {
			v.become(ev.Agent)
			v.update(v.id, acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: acp.SessionModeId(ev.Agent)}})
			v.update(v.id, acp.SessionUpdate{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{ConfigOptions: v.options()}})
		}
	}
	switch {
	case child && v.delegates != nil:
		v.delegates.child(s, e)
	case child:
		v.subagent(s, e.Event)
	default:
		for _, u := range v.root.updates(e.Event) {
			v.update(v.id, u)
		}
		if v.delegates != nil {
			v.delegates.own(e.Event)
		}
	}
	if end, ok := e.Event.(event.ToolCallEnd); ok && child {
		v.settle(callID(e.Path, end.ToolCallID), end)
	}
}

// settle says how a call of a subagent has ended that the client knows by a question.
func (v *renderer) settle(id string, end event.ToolCallEnd) {
	if v.asked[id] {
		delete(v.asked, id)
		v.update(v.id, acp.UpdateToolCall(acp.ToolCallId(id), acp.WithUpdateStatus(statusOf(end))))
	}
}

// flush shows what show has kept.
func (v *renderer) flush() {
	if v.delegates == nil {
		return
	}
	for _, u := range v.delegates.changed() {
		v.update(v.id, u)
	}
}

// subagent shows an event of a subagent as one of a session of its own.
func (v *renderer) subagent(s *live.Session, ev event.Event) {
	if _, ok := ev.(event.SessionStart); ok {
		dir := v.dirOf(s.ID)
		v.children[s.ID] = &shown{dir: dir}
		v.announce(s.ParentID, announcement(s.ID, s.Path[len(s.Path)-1].AgentType, s.Label, dir, v.opts.Root))
		return
	}
	c := v.children[s.ID]
	if c == nil { // it was not announced
		return
	}
	for _, u := range c.updates(ev) {
		v.update(s.ID, u)
	}
	state := stateOf(cmp.Or(s.Activity, s.Status))
	if s.Status.Ended() {
		delete(v.children, s.ID)
	}
	if state != "" && state != c.state {
		c.state = state
		v.announce(s.ParentID, subagentUpdate{SessionID: s.ID, State: &subagentState{state}})
	}
}

// callID names a call within a session of the protocol: those of subagents by their session,
// too.
func callID(path event.Path, id string) string {
	if n := len(path); n > 1 {
		return path[n-1].SessionID + "/" + id
	}
	return id
}
