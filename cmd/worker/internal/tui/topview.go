package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/progress"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// A screen is a line about the workspace, the body, and a line about keys. The table's body
// begins with a line of heads, and ends with lines about the selected session.
const around = 2

// details is how many lines there are about the selected session.
func (m *Top) details() int {
	switch {
	case m.height >= 18:
		return 3
	case m.height >= 10:
		return 2
	}
	return 0
}

// body is how many lines the body has.
func (m *Top) body() int { return max(1, m.height-around) }

// table is how many rows are shown.
func (m *Top) table() int { return max(1, m.body()-1-m.details()) }

// View implements [tea.Model].
func (m *Top) View() tea.View {
	body := ""
	if m.paged() {
		body = m.pager.view(m.body())
	} else {
		body = m.showTable()
	}
	last, cursor := m.lastLine()
	view := tea.NewView(m.heading() + "\n" + body + "\n" + last)
	view.AltScreen = true
	if cursor != nil {
		cursor.Y = m.height - 1
		view.Cursor = cursor
	}
	return view
}

// paged reports whether the body is a text.
func (m *Top) paged() bool {
	return m.mode == reading || m.mode == helping || m.mode == approving || m.mode == denying || m.mode == answering
}

// heading is the first line.
func (m *Top) heading() string {
	left := "worker top  " + termtext.OneLine(m.workspace, termtext.MaxTitle)
	var right, paint = "", terminal.Color("")
	switch {
	case m.trouble != "":
		right, paint = "trying again: "+m.trouble, terminal.Red
	case m.paged():
		right = m.pager.below(m.body())
	case !m.listed:
		right = "reading…"
	default:
		right = fmt.Sprintf("%d running", m.running)
		if m.waiting > 0 {
			right, paint = fmt.Sprintf("%d of %d need you", m.waiting, m.running), terminal.Yellow
		}
	}
	left = terminal.Fit(left, max(0, m.width-terminal.Cells(right)-2))
	right = terminal.Fit(right, max(0, m.width-terminal.Cells(left)))
	blanks := max(0, m.width-terminal.Cells(left)-terminal.Cells(right))
	return left + strings.Repeat(" ", blanks) + m.on.Paint(paint, right)
}

// showTable is the body with the sessions.
func (m *Top) showTable() string {
	shown, now := fit(m.width), m.now()
	lines := []string{m.on.Paint(terminal.Dim, strings.Repeat(" ", gutter)+line(shown, func(c *column) string { return c.head }))}
	for i := m.first; i < len(m.rows) && i < m.first+m.table(); i++ {
		lines = append(lines, m.showRow(&m.rows[i], shown, now))
	}
	if len(m.rows) == 0 && m.listed {
		none := "  no sessions yet: try worker task explore \"…\""
		if !m.ended && len(m.tree.Rows(true)) > 0 {
			none = "  none runs: e shows those that have ended"
		}
		lines = append(lines, terminal.Fit(none, m.width))
	}
	for len(lines) < 1+m.table() {
		lines = append(lines, "")
	}
	lines = append(lines, m.detail(now)...)
	return strings.Join(lines[:min(len(lines), m.body())], "\n")
}

const reverse = terminal.Color("\x1b[7m")

func (m *Top) showRow(r *live.Row, shown []column, now time.Time) string {
	mark := " "
	switch {
	case r.Needs() != "":
		mark = "!"
	case r.Below:
		mark = "·"
	}
	if r.ID == m.selected {
		text := terminal.Pad(">"+mark+line(shown, func(c *column) string { return c.text(r, now) }), m.width, false)
		if !m.on.Redraws {
			return text
		}
		return string(reverse) + text + "\x1b[0m"
	}
	paint := progress.StatusColor(string(r.Status))
	switch {
	case r.Needs() != "":
		paint = terminal.Yellow
	case r.Status.Ended() && paint != terminal.Red:
		paint = terminal.Dim
	}
	return m.on.Paint(paint, " "+mark+line(shown, func(c *column) string { return c.text(r, now) }))
}

// detail are lines about the selected session.
func (m *Top) detail(now time.Time) []string {
	lines := make([]string, 3)
	if r := m.row(); r != nil {
		lines = []string{
			joined(m.width, r.ID, spent(r), termtext.Count(r.Usage.InputTokens)+" in "+termtext.Count(r.Usage.OutputTokens)+" out",
				termtext.Plural(r.Steps, "step"), termtext.Duration(r.Elapsed(now)), r.State()),
			r.Doing(),
			strings.TrimSpace(r.Model + "  " + r.Name()),
		}
	}
	if m.details() == 3 {
		lines[1], lines[2] = lines[2], lines[1]
	} else {
		lines[1] = cmp.Or(lines[1], lines[2])
	}
	for i := range lines {
		lines[i] = terminal.Fit(lines[i], m.width)
	}
	return lines[:m.details()]
}

// spent is what a session has cost, and what it has with those below it.
func spent(r *live.Row) string {
	if r.Subagents == 0 {
		return r.Usage.ShowCost()
	}
	return r.Usage.ShowCost() + ", " + r.Total.ShowCost() + " with subagents"
}

// joined joins as many texts as fit into a line.
func joined(width int, texts ...string) string {
	n := 0
	for i, text := range texts {
		if n += terminal.Cells(text); n > width {
			return strings.Join(texts[:i], strings.Repeat(" ", gap))
		}
		n += gap
	}
	return strings.Join(texts, strings.Repeat(" ", gap))
}

// lastLine lists keys, or says what was done. Without a cursor nothing is typed.
func (m *Top) lastLine() (string, *tea.Cursor) {
	var text string
	switch m.mode {
	case sending, denying, answering:
		return m.input.View(), m.input.Cursor()
	case stopping:
		name := m.about
		if s := m.tree.Get(m.about); s != nil {
			name = cmp.Or(s.Agent, "the caller") + " " + s.ID
		}
		text = "stop " + name + " and all below it? y/n"
		if m.command != "" {
			text = "stop " + m.command + " of " + name + "? y/n"
		}
	case approving:
		switch text = "approve? y this time  n no"; {
		case m.ask.Ask != nil:
			text = cmp.Or(m.note, "answer? enter: type it  n no answer")
		case m.always:
			text = "approve? y this time  A always  n no"
		}
		if !m.pager.seen {
			text = cmp.Or(m.note, text)
		}
	case reading, helping:
		text = "esc back  ↑↓ scroll  g start  G end"
	default:
		if m.note == "" {
			return m.on.Paint(terminal.Dim, hints(m.width)), nil
		}
		text = m.note
	}
	return terminal.Fit(text, m.width), nil
}

// keyHints are the texts of the last line, the most important first. As many as fit are
// shown, in the order of shown.
var keyHints = []struct {
	text  string
	shown int
}{{"? help", 6}, {"q quit", 7}, {"enter log", 1}, {"v question", 4}, {"x stop", 3}, {"s send", 2}, {"n next", 5}}

// hints are the keys that there is room for.
func hints(width int) string {
	at := make([]string, len(keyHints)+1)
	for _, k := range keyHints {
		n := terminal.Cells(k.text)
		for _, other := range at {
			if other != "" {
				n += terminal.Cells(other) + gap
			}
		}
		if n > width {
			break
		}
		at[k.shown] = k.text
	}
	at = slices.DeleteFunc(at, func(text string) bool { return text == "" })
	return strings.Join(at, strings.Repeat(" ", gap))
}
