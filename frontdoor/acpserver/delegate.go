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
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session/live"
)

// maxLines is how many of the last lines of a subagent are shown.
const maxLines = 12

// delegates shows subagents to a client that knows none: the work of a subagent is the content
// of the tool call that made it.
type delegates struct {
	calls    []*delegate          // that run
	children map[string]*delegate // by the subagent's id
	dirty    map[*delegate]bool
}

// delegate is a call that makes a subagent, such as one of task.
type delegate struct {
	id, message, agent, description string

	child *live.Session // the subagent; nil means it is not known yet
	lines []string      // what it does, and those below it
}

func newDelegates() *delegates {
	return &delegates{children: make(map[string]*delegate), dirty: make(map[*delegate]bool)}
}

// own adds an event of the session that makes the calls.
func (l *delegates) own(ev event.Event) {
	switch ev := ev.(type) {
	case event.ToolCallStart:
		var args struct{ AgentType, Description, Name string }
		_ = json.Unmarshal([]byte(ev.Arguments), &args) // a call that can't be read makes no subagent
		switch ev.ToolName {
		case toolcatalog.Task, "task_send":
		case toolcatalog.Skill:
			args.Description = "skill " + args.Name
		default:
			return
		}
		l.calls = append(l.calls, &delegate{id: ev.ToolCallID, message: ev.MessageID, agent: args.AgentType, description: args.Description})
	case event.ToolCallEnd:
		l.calls = slices.DeleteFunc(l.calls, func(d *delegate) bool {
			if d.id == ev.ToolCallID {
				if d.child != nil {
					delete(l.children, d.child.ID)
				}
				delete(l.dirty, d)
			}
			return d.id == ev.ToolCallID
		})
	}
}

// child adds an event of a subagent, or of one below it.
func (l *delegates) child(s *live.Session, e live.Event) {
	child, below := e.Path[1].SessionID, len(e.Path) > 2
	if start, ok := e.Event.(event.SessionStart); ok && !below {
		l.assign(s, start)
	}
	d := l.children[child]
	if d == nil { // its call has returned
		return
	}
	indent := strings.Repeat("  ", len(e.Path)-2)
	switch ev := e.Event.(type) {
	case event.SessionStart:
		if below {
			d.add(indent + termtext.OneLine(e.Path[len(e.Path)-1].AgentType+": "+ev.Description, termtext.MaxMessage))
		}
	case event.ToolCallStart:
		d.add(indent + ev.Summary())
	case event.Stalled:
		d.add(indent + "nothing has happened for long")
	case event.StatusChange, event.SessionEnd:
		if below {
			return
		}
	default:
		return
	}
	l.dirty[d] = true
}

func (d *delegate) add(line string) {
	if d.lines = append(d.lines, line); len(d.lines) > maxLines {
		d.lines = slices.Delete(d.lines, 0, 1)
	}
}

// status is what the subagent does, or how it has ended.
func (d *delegate) status() string {
	if d.child.Status.Ended() {
		return string(d.child.Status)
	}
	return strings.ReplaceAll(string(d.child.Activity), "_", " ")
}

// assign finds the call that made a subagent. Of the calls of its message without a subagent
// it takes the one that describes it best.
func (l *delegates) assign(child *live.Session, start event.SessionStart) {
	var best *delegate
	most := -1
	for _, d := range l.calls {
		if d.child != nil || d.message != start.ParentMessageID {
			continue
		}
		fits := 0
		if d.description == start.Description {
			fits += 2
		}
		if strings.EqualFold(d.agent, child.Path[1].AgentType) {
			fits++
		}
		if fits > most {
			best, most = d, fits
		}
	}
	if best != nil {
		best.child = child
		l.children[child.ID] = best
	}
}

// changed returns an update of each call of whose subagent there is news.
func (l *delegates) changed() []acp.SessionUpdate {
	var updates []acp.SessionUpdate
	for _, d := range slices.SortedFunc(maps.Keys(l.dirty), func(a, b *delegate) int { return strings.Compare(a.id, b.id) }) {
		text := fmt.Sprintf("%s (%s): %s", termtext.OneLine(d.child.Path[1].AgentType, termtext.MaxName), d.child.ID, d.status())
		if len(d.lines) > 0 {
			text += "\n" + strings.Join(d.lines, "\n")
		}
		updates = append(updates, acp.UpdateToolCall(acp.ToolCallId(d.id),
			acp.WithUpdateStatus(acp.ToolCallStatusInProgress), acp.WithUpdateContent([]acp.ToolCallContent{block(fenced(text))})))
	}
	clear(l.dirty)
	return updates
}
