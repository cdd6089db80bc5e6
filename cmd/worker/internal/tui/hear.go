package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// hear applies an event of a session.
func (m *Chat) hear(f live.Event) {
	if len(f.Path) == 0 || f.Path[0].SessionID != m.root {
		return // of one before
	}
	m.seq = max(m.seq, f.Seq)
	m.tree.Apply(f)
	if len(f.Path) > 1 {
		m.child(f)
		return
	}
	switch ev := f.Event.(type) {
	case event.ContentDelta:
		if ev.MessageID != m.message {
			m.say(true)
			m.message, m.printedText = ev.MessageID, false
		}
		m.text += ev.Delta
		m.say(false)
	case event.ModelRetry:
		m.say(true)
		m.print(terminal.Yellow, "  "+ev.SummaryAfter(0))
	case event.ToolCallStart:
		m.say(true)
		m.calls[ev.ToolCallID] = ev.Summary()
	case event.ToolCallEnd:
		call := m.calls[ev.ToolCallID]
		delete(m.calls, ev.ToolCallID)
		m.ended(call, ev)
	case event.TurnComplete:
		m.say(true)
	case event.Warning:
		m.print(terminal.Yellow, "  warning: "+termtext.OneLine(ev.Message, termtext.MaxText))
	case event.ContextCompacted:
		m.print(terminal.Dim, "  the conversation was long: a summary stands for its older part")
	case event.Budget:
		m.print(terminal.Yellow, "  "+ev.Summary())
	}
}

// ended prints how a call of the agent has ended, unless its subagent's end was printed.
func (m *Chat) ended(call string, ev event.ToolCallEnd) {
	if ev.ToolName == "task" {
		if !ev.IsError {
			return
		}
		if m.failed > 0 {
			m.failed--
			return
		}
	}
	outcome, paint := "ok", terminal.Dim
	if ev.IsError {
		outcome, paint = termtext.OneLine(ev.Result, termtext.MaxReason), terminal.Yellow
	}
	m.print(paint, fmt.Sprintf("  %s  %s", termtext.OneLine(call, termtext.MaxLabel), outcome))
}

// child prints those events of a subagent that deserve a lasting line.
func (m *Chat) child(f live.Event) {
	s := m.tree.Get(f.ID())
	indent := strings.Repeat("  ", len(f.Path)-1)
	switch ev := f.Event.(type) {
	case event.SessionEnd:
		text := fmt.Sprintf("%s%s  %s  %s", indent, s.Name(), ev.Words(), termtext.Duration(s.Elapsed(m.now())))
		if s.Error != "" && ev.Status != "completed" {
			text += "  " + s.Error
		}
		paint := progress.StatusColor(string(ev.Status))
		if ev.Status == "completed" {
			paint = terminal.Dim
		} else if s.ParentID == m.root {
			m.failed++
		}
		m.print(paint, text)
	case event.Stalled:
		m.print(terminal.Yellow, fmt.Sprintf("%s%s  stalled: /stop %s ends it", indent, s.Name(), s.ID))
	}
}

// maxUnbroken is how long, in bytes, an unfinished line of an answer gets before it is
// broken.
const maxUnbroken = 8 << 10

// say prints the answer so far, up to its last complete line; with rest all of it.
func (m *Chat) say(rest bool) {
	end := strings.LastIndexByte(m.text, '\n') + 1
	if end == 0 && len(m.text) > maxUnbroken {
		end = strings.LastIndexByte(m.text, ' ') + 1
	}
	if rest || end == 0 && len(m.text) > maxUnbroken {
		end = len(m.text)
	}
	if end == 0 {
		return
	}
	text := strings.TrimSuffix(m.text[:end], "\n")
	m.text = m.text[end:]
	if strings.TrimSpace(text) == "" && !m.printedText {
		return
	}
	m.printedText = true
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			m.out = append(m.out, "")
			continue
		}
		m.print("", line)
	}
}

// children are the lines of the running subagents, as many as fit.
func (m *Chat) children(room int, now time.Time) []string {
	rows := slices.DeleteFunc(m.tree.Rows(false), func(r live.Row) bool { return r.ID == m.root || r.Status.Ended() })
	more := ""
	if n := len(rows) - room; n > 0 {
		rows = rows[:max(0, room-1)]
		more = terminal.Fit(fmt.Sprintf("  … %d more", n+1), m.width)
	}
	names, widest := make([]string, len(rows)), 0
	for i := range rows {
		names[i] = terminal.Fit("  "+rows[i].Branch+rows[i].Name(), max(10, m.width/2))
		widest = max(widest, terminal.Cells(names[i]))
	}
	var lines []string
	for i := range rows {
		r := &rows[i]
		doing := strings.TrimSpace(r.Needs() + "  " + r.Doing())
		left := max(0, m.width-widest-2*gap-ages)
		line := terminal.Pad(names[i], widest, false) + strings.Repeat(" ", gap) + terminal.Pad(doing, left, false) + strings.Repeat(" ", gap) +
			terminal.Pad(termtext.Duration(r.Age(now)), ages, true)
		lines = append(lines, terminal.Fit(line, m.width))
	}
	if more != "" && room > 0 {
		lines = append(lines, more)
	}
	return lines
}

// ages is how many columns an age takes.
const ages = 4
