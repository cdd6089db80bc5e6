package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
)

// View implements [tea.Model]. It leaves at least two lines of the terminal to earlier
// text.
func (m *Chat) View() tea.View {
	input := strings.Split(strings.TrimRight(m.input.View(), "\n"), "\n")
	status := m.status()
	room := max(0, m.height-2-len(input)-len(status))
	children := m.children(room/2, m.now())
	lines := append(m.partial(room-len(children)), children...)
	lines = append(lines, status...)
	above := len(lines)
	for i, line := range input {
		input[i] = terminal.Fit(strings.TrimRight(line, " "), m.width)
	}
	view := tea.NewView(strings.Join(append(lines, input...), "\n"))
	if cursor := m.input.Cursor(); cursor != nil {
		cursor.Y += above
		view.Cursor = cursor
	}
	return view
}

// partial is the end of the answer's unfinished line.
func (m *Chat) partial(room int) []string {
	if m.text == "" || room < 1 {
		return nil
	}
	lines := terminal.Lines(termtext.Printable(m.text), m.width)
	return lines[max(0, len(lines)-room):]
}

// status is the line above the input: what is asked, or what the agent does.
func (m *Chat) status() []string {
	text, paint := m.note, terminal.Dim
	switch {
	case len(m.asked) > 0:
		text, paint = strings.TrimSuffix(Choices(m.asked[0].Approval, m.always, m.whole), " > "), terminal.Yellow
		if m.note != "" {
			text = m.note + "   " + text
		}
	case text != "":
	case m.running:
		text = "answering  " + termtext.Duration(m.now().Sub(m.began)) + "  ctrl+c stops it"
		if root := m.tree.Get(m.root); root != nil && root.Doing() != "" {
			text = root.Doing() + "  " + termtext.Duration(m.now().Sub(m.began)) + "  ctrl+c stops it"
		}
	}
	if text == "" {
		return nil
	}
	return []string{m.on.Paint(paint, terminal.Fit(text, m.width))}
}
