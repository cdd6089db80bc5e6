package tui

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/question"
)

// key handles a key.
func (m *Chat) key(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key != "ctrl+c" {
		m.leaving, m.note = false, ""
	}
	switch key {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.quit()
		}
	case "ctrl+z":
		return tea.Suspend
	case "enter":
		return m.enter()
	case "up", "ctrl+p":
		if len(m.asked) == 0 && m.input.Line() == 0 {
			m.recall(-1)
			return nil
		}
	case "down", "ctrl+n":
		if len(m.asked) == 0 && m.input.Line() == m.input.LineCount()-1 {
			m.recall(1)
			return nil
		}
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

const again = "ctrl+c again ends the conversation"

// interrupt stops the turn. If none runs, or it is stopped already, a second interrupt ends
// the conversation.
func (m *Chat) interrupt() tea.Cmd {
	switch {
	case m.leaving:
		return m.quit()
	case m.running:
		m.stop()
		m.note = "stopping; " + again
	case m.input.Value() != "":
		m.input.Reset()
		return nil
	default:
		m.note = again
	}
	m.leaving = !m.leaving
	return nil
}

// quit ends the conversation, once the turn that runs has ended.
func (m *Chat) quit() tea.Cmd {
	if !m.running {
		return tea.Quit
	}
	m.stop()
	m.quitting, m.note = true, "ending…"
	return nil
}

// recall shows another line of the history.
func (m *Chat) recall(by int) {
	to := m.at + by
	if to < 0 || to > len(m.history) {
		return
	}
	if m.at == len(m.history) {
		m.draft = m.input.Value()
	}
	if m.at = to; to == len(m.history) {
		m.input.SetValue(m.draft)
	} else {
		m.input.SetValue(m.history[to])
	}
	m.input.MoveToEnd()
}

// slashCommand matches a line that is a command, and not for the agent.
var slashCommand = regexp.MustCompile(`^/([a-z]+)(?:\s+(.*))?$`)

// enter handles the line that was typed.
func (m *Chat) enter() tea.Cmd {
	text := strings.TrimSpace(m.input.Value())
	if len(m.asked) > 0 {
		m.reply(text)
		return nil
	}
	if text == "" {
		return nil
	}
	m.input.Reset()
	if n := len(m.history); n == 0 || m.history[n-1] != text {
		m.history = append(m.history, text)
	}
	m.at, m.draft = len(m.history), ""
	m.echo(text)
	if parts := slashCommand.FindStringSubmatch(text); parts != nil {
		return m.slashCommand(parts[1], strings.TrimSpace(parts[2]))
	}
	if !m.running {
		return m.prompt(text)
	}
	return do(func() (string, error) {
		if err := m.agent.Send(text); err != nil {
			return "  it was not sent: " + errtext.Of(err), nil
		}
		return "  it is read before the next step", nil
	})
}

// echo prints the user's line.
func (m *Chat) echo(text string) {
	for i, line := range terminal.Lines(text, max(2, m.width-2)) {
		mark := "> "
		if i > 0 {
			mark = "  "
		}
		m.out = append(m.out, m.on.Paint(terminal.Green, mark+line))
	}
}

const chatHelp = `/stop        stops the answer; /stop ID one session and all below it
/background  the command that the answer waits for goes on by itself; /background ID that of one session
/agents      the agents that may be called
/model NAME  the model of the next turns; without NAME it says which
/quit        ends the conversation, as ctrl+d does
enter sends; alt+enter or ctrl+j begins a new line; up and down: earlier lines
ctrl+c stops the answer, twice it ends the conversation
While an answer comes, a line is read by the agent before its next step.`

// slashCommand runs a line that begins with a slash.
func (m *Chat) slashCommand(name, arg string) tea.Cmd {
	switch name {
	case "help":
		m.print("", chatHelp)
	case "quit", "exit":
		return m.quit()
	case "agents":
		m.print("", strings.Join(m.agent.Agents(), "\n"))
	case "model":
		return m.model(arg)
	case "stop":
		return m.stopSession(arg)
	case "background":
		return do(func() (string, error) { return m.agent.MoveCommand(m.ctx, arg) })
	default:
		m.print(terminal.Yellow, fmt.Sprintf("there is no /%s: /help lists what there is", name))
	}
	return nil
}

func (m *Chat) model(name string) tea.Cmd {
	switch {
	case name == "":
		m.print("", m.agent.Model())
	case m.running:
		m.print(terminal.Yellow, "wait for the answer, or /stop it")
	default:
		return do(func() (string, error) {
			err := m.agent.SetModel(m.ctx, name)
			return "the next turns run on " + m.agent.Model(), err
		})
	}
	return nil
}

func (m *Chat) stopSession(id string) tea.Cmd {
	switch {
	case id != "":
		return do(func() (string, error) { return m.agent.Stop(m.ctx, id) })
	case m.running:
		m.stop()
	default:
		m.print("", "nothing runs")
	}
	return nil
}

// ask prints the first call that waits, for the user to answer.
func (m *Chat) ask() {
	m.say(true)
	m.show(question.Terminal)
	m.stash = m.input.Value()
	m.input.Reset()
}

// show prints the first call that waits, as a door shows it.
func (m *Chat) show(door question.Door) {
	var b bytes.Buffer
	m.always, m.whole = WriteQuestion(&b, m.asked[0].Approval, door, max(10, m.width-4))
	m.print(terminal.Yellow, b.String())
}

// reply answers a call that waits by a line that the user has typed.
func (m *Chat) reply(line string) {
	m.input.Reset()
	reply, err := ReadReply(m.asked[0].Approval, line, m.always, m.whole)
	switch {
	case err != nil:
		m.note = termtext.OneLine(err.Error(), termtext.MaxText)
	case reply.View:
		m.show(question.Whole)
	default:
		reply.By = "the terminal"
		m.print(terminal.Dim, "  "+line)
		m.asked[0].Reply <- reply.Answer
		m.over(0)
	}
}

// over removes a question, and asks the next one.
func (m *Chat) over(i int) {
	m.asked = slices.Delete(m.asked, i, i+1)
	if i > 0 {
		return
	}
	m.input.SetValue(m.stash)
	if len(m.asked) > 0 {
		m.ask()
	}
}

// unask removes the questions that nobody waits for any more.
func (m *Chat) unask() {
	for i := len(m.asked) - 1; i >= 0; i-- {
		if context.Cause(m.asked[i].Context) == nil {
			continue
		}
		if i == 0 {
			m.print(terminal.Dim, "  this question is over")
		}
		m.over(i)
	}
}
