package tui

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/question"
)

const topHelp = `up, k, down, j   select a session; also pgup, pgdown, home, end
enter            its log; esc comes back
s                send it a line, which its model reads before its next step
x                stop it, and what runs below it
c                stop a command that goes on in its background
b                move it to the background: the call that waits for it goes on
f                move the command that it waits for to its background
v                the call of it that waits for approval, as a whole; then y
                 approves it, A it and all like it, n denies it with a reason;
                 a question of an agent: enter, and the answer
n                the next session that needs somebody
e                hide those that have ended, or show them
q, ctrl+c        quit; the sessions go on

"!" marks sessions that need somebody: an approval, a question, a command that
waits for input, one that has stalled, is over its budget or paused, or whose
process has gone. They and what is above them come first. "·" marks what is
above them.`

// typing reports whether keys are typed into a line.
func (m *Top) typing() bool { return m.mode == sending || m.mode == denying || m.mode == answering }

// key handles a key.
func (m *Top) key(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case key == "ctrl+z":
		return tea.Suspend
	case key == "esc" && m.mode != browsing, key == "q" && (m.mode == reading || m.mode == helping):
		m.back()
		return nil
	}
	switch m.mode {
	case browsing:
		return m.browse(key)
	case reading, helping:
		m.pager.key(key, m.body())
	case stopping:
		return m.confirm(key)
	case approving:
		return m.approve(key)
	case sending, denying, answering:
		return m.typed(msg)
	}
	return nil
}

// back shows the table again.
func (m *Top) back() { m.mode, m.ask, m.about, m.note = browsing, nil, "", "" }

// browse is a key in the table.
func (m *Top) browse(key string) tea.Cmd {
	m.note = ""
	switch key {
	case "q":
		return tea.Quit
	case "?":
		m.mode, m.pager = helping, pager{}
		m.pager.set(topHelp, m.width, m.body())
	case "up", "k":
		m.step(-1)
	case "down", "j":
		m.step(1)
	case "pgup":
		m.step(-m.table())
	case "pgdown":
		m.step(m.table())
	case "home", "g":
		m.step(-len(m.rows))
	case "end", "G":
		m.step(len(m.rows))
	case "n":
		m.next()
	case "e":
		m.ended = !m.ended
	default:
		if row := m.row(); row != nil {
			return m.onRow(key, row)
		}
	}
	return nil
}

// step selects another row.
func (m *Top) step(by int) {
	for i := range m.rows {
		if m.rows[i].ID == m.selected {
			m.selected = m.rows[min(max(0, i+by), len(m.rows)-1)].ID
			return
		}
	}
}

// next selects the next session that needs somebody.
func (m *Top) next() {
	from := 0
	for i := range m.rows {
		if m.rows[i].ID == m.selected {
			from = i + 1
		}
	}
	for i := range m.rows {
		if r := &m.rows[(from+i)%len(m.rows)]; r.Needs() != "" {
			m.selected = r.ID
			return
		}
	}
	m.note = "no session needs you"
}

// onRow handles a key about a session.
func (m *Top) onRow(key string, row *live.Row) tea.Cmd {
	switch key {
	case "enter":
		m.mode, m.about, m.pager = reading, row.ID, pager{end: true}
		return m.fetch(row.ID)
	case "s":
		switch {
		case row.Agent == "":
			m.note = "a caller has no model that could read a line"
		case row.Status.Ended():
			m.note = fmt.Sprintf("it has ended: worker sessions resume %s", row.ID)
		default:
			m.mode, m.about = sending, row.ID
			return m.typeIn("send to " + row.Agent + ": ")
		}
	case "x":
		if row.Status.Ended() {
			m.note = "it has ended"
			return nil
		}
		m.mode, m.about, m.command = stopping, row.ID, ""
	case "c":
		if c := row.Command(); c != nil {
			m.mode, m.about, m.command = stopping, row.ID, c.ID
		} else {
			m.note = "no command goes on in its background"
		}
	case "f":
		id := row.ID
		return m.act("moving it…", func() (string, error) { return m.actions.MoveCommand(m.ctx, id) })
	case "b":
		switch id := row.ID; {
		case row.Status.Ended():
			m.note = "it has ended"
		case row.ParentID == "":
			m.note = "no call waits for it"
		default:
			return m.act("moving it…", func() (string, error) { return m.actions.Background(m.ctx, id) })
		}
	case keyView:
		m.showNext(row)
	}
	return nil
}

// typeIn lets the user type a line.
func (m *Top) typeIn(prompt string) tea.Cmd {
	m.input.Reset()
	m.input.Prompt = terminal.Fit(prompt, m.width/2)
	m.input.SetWidth(max(1, m.width-terminal.Cells(m.input.Prompt)-1))
	return m.input.Focus()
}

// showNext shows the call that waits for approval: a session's, or else one of a session
// below it.
func (m *Top) showNext(row *live.Row) {
	at := 0
	for i := range m.rows {
		if m.rows[i].ID == row.ID {
			at = i
		}
	}
	depth := len([]rune(row.Branch))
	for i := at; i < len(m.rows) && (i == at || len([]rune(m.rows[i].Branch)) > depth); i++ {
		if r := &m.rows[i]; len(r.Questions) > 0 {
			m.selected, m.ask, m.pager = r.ID, m.approval(r.Session, r.Questions[0]), pager{}
			m.showAsk()
			m.mode = approving
			return
		}
	}
	m.note = "no call of it waits for approval"
}

// showAsk shows the approval in the pager.
func (m *Top) showAsk() {
	var b bytes.Buffer
	m.always, _ = WriteQuestion(&b, m.ask, question.Whole, max(10, m.width-4))
	m.pager.set(b.String(), m.width, m.body())
}

// confirm is a key where it is asked whether to stop a session, or a command of it.
func (m *Top) confirm(key string) tea.Cmd {
	id, command := m.about, m.command
	switch key {
	case "y", "Y":
		m.back()
		if command != "" {
			return m.act("stopping it…", func() (string, error) { return m.actions.StopCommand(m.ctx, id, command) })
		}
		return m.act("stopping it…", func() (string, error) { return m.actions.Stop(m.ctx, id) })
	case "n", "N":
		m.back()
	}
	return nil
}

// approve is a key where an approval is shown.
func (m *Top) approve(key string) tea.Cmd {
	answer := approval.Answer{Verdict: approval.ApproveOnce}
	if m.ask.Ask != nil {
		return m.question(key)
	}
	switch {
	case (key == keyOnce || key == keyAlways) && !m.pager.seen:
		m.note = "read all of it first: ↓, pgdown"
		return nil
	case key == keyOnce:
	case key == keyAlways && m.always:
		answer.Verdict = approval.ApproveAlways
	case key == keyDeny:
		m.mode = denying
		return m.typeIn("no, because: ")
	default:
		m.pager.key(key, m.body())
		return nil
	}
	return m.answer(answer)
}

// question is a key where a question of an agent is shown.
func (m *Top) question(key string) tea.Cmd {
	switch {
	case key == "enter" && !m.pager.seen:
		m.note = "read all of it first: ↓, pgdown"
	case key == "enter":
		m.mode, m.note = answering, ""
		return m.typeIn("answer: ")
	case key == keyDeny:
		m.mode, m.note = denying, ""
		return m.typeIn("no answer, because: ")
	default:
		m.pager.key(key, m.body())
	}
	return nil
}

// replied answers the question that is shown by a line that was typed.
func (m *Top) replied(line string) tea.Cmd {
	reply, err := ReadReply(m.ask, line, false, true)
	if err != nil {
		m.mode, m.note = approving, termtext.OneLine(err.Error(), termtext.MaxLine)
		return nil
	}
	return m.answer(reply.Answer)
}

// answer answers the approval that is shown.
func (m *Top) answer(answer approval.Answer) tea.Cmd {
	id := m.ask.ID
	m.back()
	return m.act("answering…", func() (string, error) { return m.actions.Answer(m.ctx, id, answer) })
}

// typed is a key of the line that is typed.
func (m *Top) typed(msg tea.KeyPressMsg) tea.Cmd {
	if key := msg.String(); key == "pgup" || key == "pgdown" {
		m.pager.key(key, m.body())
		return nil
	}
	if msg.String() != "enter" {
		var cmd tea.Cmd
		m.input, cmd = m.input.Update(msg)
		return cmd
	}
	text := strings.TrimSpace(m.input.Value())
	switch m.mode {
	case answering:
		return m.replied(text)
	case denying:
		return m.answer(approval.Answer{Feedback: text})
	}
	id := m.about
	m.back()
	if text == "" {
		return nil
	}
	return m.act(cmp.Or(m.note, "sending…"), func() (string, error) { return m.actions.Send(m.ctx, id, text) })
}
