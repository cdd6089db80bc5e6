package mcpserver

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/taskt"
)

// maxMessages bounds what a call holds for a host that reads slowly. More is
// dropped: the stream has it, and progress is for people who look on.
const maxMessages = 64

// call is a task call as progress sees it.
type call struct {
	args     string      // as its tool_call_start shows them
	messages chan string // what the child does, for people

	// What the stream has told of it so far, in this order.
	toolCallID, messageID, sessionID string
}

// tracker finds, on the stream of the host's root session, what belongs to
// which call. It knows a call's tool_call_start by its arguments, the oldest
// call first, and the child by the message that made it. Two calls with the
// same arguments at once may be taken for one another.
type tracker struct {
	mu    sync.Mutex
	calls []*call // until their tool_call_end, the oldest first
}

// add announces a call that is about to be made.
func (t *tracker) add(in taskt.Input) *call {
	args, err := json.Marshal(in)
	if err != nil { // strings always have a JSON form
		panic(err)
	}
	c := &call{args: string(args), messages: make(chan string, maxMessages)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, c)
	return c
}

// event takes the next event of the root's stream. What can't be decoded is
// passed over: progress is not the place to fail.
func (t *tracker) event(raw json.RawMessage) {
	ev, err := eventbus.Decode(raw)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch ev := ev.(type) {
	case eventbus.ToolCallStart:
		if c := t.find(func(c *call) bool { return c.toolCallID == "" && c.args == ev.Arguments }); c != nil {
			c.toolCallID, c.messageID = ev.ToolCallID, ev.MessageID
		}
	case eventbus.ToolCallEnd:
		t.calls = slices.DeleteFunc(t.calls, func(c *call) bool { return c.toolCallID == ev.ToolCallID })
	case eventbus.SubagentEvent:
		t.child(ev)
	}
}

// child takes an event of a child, or of one below it.
func (t *tracker) child(env eventbus.SubagentEvent) {
	ev, err := eventbus.Decode(env.Event)
	if err != nil {
		return
	}
	if start, ok := ev.(eventbus.SessionStart); ok {
		if c := t.find(func(c *call) bool { return c.messageID != "" && c.messageID == start.ParentMessageID }); c != nil {
			c.sessionID = env.SessionID
		}
	}
	c := t.find(func(c *call) bool { return c.sessionID == env.SessionID })
	if c == nil {
		return
	}
	if text := describe(env.AgentType, ev); text != "" {
		select {
		case c.messages <- text:
		default:
		}
	}
}

// find returns the oldest call that is meant, or nil.
func (t *tracker) find(is func(*call) bool) *call {
	if i := slices.IndexFunc(t.calls, is); i >= 0 {
		return t.calls[i]
	}
	return nil
}
