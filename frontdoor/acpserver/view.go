package acpserver

import (
	"context"
	"sync"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// view shows the stream of one session to the client. It is for one goroutine.
type view struct {
	*talk
	ctx       context.Context // ends with the stream
	below     *sync.WaitGroup // waits for the questions
	root      *shown
	questions map[string]context.CancelFunc // by the id of the approval
	asked     map[string]bool               // calls of subagents that the client knows by questions

	children  map[string]*shown // subagents by their ids, where the client shows them as sessions
	delegates *delegates        // else; nil means it does
}

func newView(ctx context.Context, t *talk, below *sync.WaitGroup) *view {
	v := &view{
		talk: t, ctx: ctx, below: below, root: &shown{dir: t.opts.Root},
		questions: make(map[string]context.CancelFunc), asked: make(map[string]bool),
	}
	t.connection.mu.Lock()
	defer t.connection.mu.Unlock()
	if t.client.subagents {
		v.children = make(map[string]*shown)
	} else {
		v.delegates = newDelegates()
	}
	return v
}

// take shows an event, or keeps it for flush.
func (v *view) take(d eventbus.Delivery) {
	around, ev, err := d.Event()
	if err != nil {
		return // of what can't be read there is nothing to show
	}
	switch ev := ev.(type) {
	case event.ToolApprovalRequired:
		v.ask(around, ev)
	case event.ToolApprovalResolved:
		if withdraw := v.questions[ev.ApprovalID]; withdraw != nil {
			withdraw()
			delete(v.questions, ev.ApprovalID)
		}
	case event.AgentChanged:
		if len(around) == 0 {
			v.become(ev.Agent)
			v.update(v.id, acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: acp.SessionModeId(ev.Agent)}})
			v.update(v.id, acp.SessionUpdate{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{ConfigOptions: v.options()}})
		}
	}
	if len(around) == 0 {
		for _, u := range v.root.updates(ev) {
			v.update(v.id, u)
		}
		if v.delegates != nil {
			v.delegates.own(ev)
		}
		return
	}
	if v.delegates == nil {
		v.subagent(around, ev)
	} else {
		v.delegates.child(around, ev)
	}
	v.settle(around, ev)
}

// settle says how a call of a subagent has ended that the client knows by a question.
func (v *view) settle(around []event.SubagentEvent, ev event.Event) {
	end, ok := ev.(event.ToolCallEnd)
	if !ok {
		return
	}
	id := callID(around, end.ToolCallID)
	if v.asked[id] {
		delete(v.asked, id)
		v.update(v.id, acp.UpdateToolCall(acp.ToolCallId(id), acp.WithUpdateStatus(statusOf(end))))
	}
}

// flush shows what take has kept.
func (v *view) flush() {
	if v.delegates == nil {
		return
	}
	for _, u := range v.delegates.changed() {
		v.update(v.id, u)
	}
}

// callID names a call within a session of the protocol: those of subagents by their
// session, too.
func callID(around []event.SubagentEvent, id string) string {
	if n := len(around); n > 0 {
		return around[n-1].SessionID + "/" + id
	}
	return id
}
