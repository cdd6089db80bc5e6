package acpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// maxDoings is how many of the last lines of a subagent are shown.
const maxDoings = 12

// delegates are the tool calls that have made subagents, for a client that knows nothing of
// these: what they do is the content of the call.
type delegates struct {
	calls    []*delegate          // that run
	children map[string]*delegate // by the subagent's id
	dirty    map[*delegate]bool
}

// delegate is a call that makes a subagent, such as one of task.
type delegate struct {
	id, message, agent, description string

	child  string // the id of the subagent; empty means it is not known yet
	name   string
	status string
	doings []string // what it does, and those below it
}

func newDelegates() *delegates {
	return &delegates{children: make(map[string]*delegate), dirty: make(map[*delegate]bool)}
}

// own takes an event of the session that makes the calls.
func (l *delegates) own(ev event.Event) {
	switch ev := ev.(type) {
	case event.ToolCallStart:
		if ev.ToolName != "task" && ev.ToolName != "task_send" {
			return
		}
		var args struct{ AgentType, Description string }
		_ = json.Unmarshal([]byte(ev.Arguments), &args) // a call that can't be read makes no subagent
		l.calls = append(l.calls, &delegate{id: ev.ToolCallID, message: ev.MessageID, agent: args.AgentType, description: args.Description})
	case event.ToolCallEnd:
		l.calls = slices.DeleteFunc(l.calls, func(d *delegate) bool {
			if d.id == ev.ToolCallID {
				delete(l.children, d.child)
				delete(l.dirty, d)
			}
			return d.id == ev.ToolCallID
		})
	}
}

// child takes an event of a subagent, or of one below it.
func (l *delegates) child(around []event.SubagentEvent, ev event.Event) {
	first, inner := around[0], around[len(around)-1]
	if start, ok := ev.(event.SessionStart); ok && len(around) == 1 {
		l.assign(first, start)
	}
	d := l.children[first.SessionID]
	if d == nil { // its call has returned
		return
	}
	indent := strings.Repeat("  ", len(around)-1)
	switch ev := ev.(type) {
	case event.SessionStart:
		if len(around) > 1 {
			d.does(indent + termtext.OneLine(inner.AgentType+": "+ev.Description, 120))
		}
	case event.StatusChange:
		if len(around) > 1 {
			return
		}
		d.status = strings.ReplaceAll(string(ev.Status), "_", " ")
	case event.ToolCallStart:
		d.does(indent + ev.Summary())
	case event.Stalled:
		d.does(indent + "nothing has happened for long")
	case event.SessionEnd:
		if len(around) > 1 {
			return
		}
		d.status = string(ev.Status)
	default:
		return
	}
	l.dirty[d] = true
}

func (d *delegate) does(line string) {
	if d.doings = append(d.doings, line); len(d.doings) > maxDoings {
		d.doings = slices.Delete(d.doings, 0, 1)
	}
}

// assign finds the call that has made a subagent: of those of its message which have none
// yet, the one that names it best.
func (l *delegates) assign(child event.SubagentEvent, start event.SessionStart) {
	var best *delegate
	most := -1
	for _, d := range l.calls {
		if d.child != "" || d.message != start.ParentMessageID {
			continue
		}
		fits := 0
		if d.description == start.Description {
			fits += 2
		}
		if strings.EqualFold(d.agent, child.AgentType) {
			fits++
		}
		if fits > most {
			best, most = d, fits
		}
	}
	if best != nil {
		best.child, best.name = child.SessionID, child.AgentType
		l.children[child.SessionID] = best
	}
}

// changed returns an update of each call of whose subagent there is news.
func (l *delegates) changed() []acp.SessionUpdate {
	var updates []acp.SessionUpdate
	for _, d := range slices.SortedFunc(maps.Keys(l.dirty), func(a, b *delegate) int { return strings.Compare(a.id, b.id) }) {
		text := fmt.Sprintf("%s (%s): %s", termtext.OneLine(d.name, 60), d.child, d.status)
		if len(d.doings) > 0 {
			text += "\n" + strings.Join(d.doings, "\n")
		}
		updates = append(updates, acp.UpdateToolCall(acp.ToolCallId(d.id),
			acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateContent([]acp.ToolCallContent{block(fenced(text))})))
	}
	clear(l.dirty)
	return updates
}
