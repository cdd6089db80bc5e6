package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
)

// Agent is the agent that the user talks to.
type Agent interface {
	// Prompt lets the agent answer, and returns when all events of that are stored. They
	// come as [Facts].
	Prompt(ctx context.Context, text string) Answered

	// Send sends a line that the agent reads before its next step, while it answers.
	Send(text string) error

	// Stop stops a session, and returns how it has ended.
	Stop(ctx context.Context, sessionID string) (string, error)

	// MoveCommand has the command that a session waits for go on in its background. Without an id the
	// session is the conversation's own.
	MoveCommand(ctx context.Context, sessionID string) (string, error)

	// Chat returns the model of the next turns, and SetModel changes it.
	Model() string
	SetModel(ctx context.Context, name string) error

	// Agents returns the agents that this one may call, one line each.
	Agents() []string
}

// Messages of the program.
type (
	// Opened reports a session that was opened. The facts that follow are about it.
	Opened struct{ ID string }

	// Answered is how a turn has ended.
	Answered struct {
		Text string // the answer
		Err  error
		Seq  uint64 // of the turn's last event; 0 means it is not known
	}

	// Asked is a call that waits for an answer, which Reply takes; its context ends
	// when nobody waits for it any more.
	Asked struct {
		Approval *approval.Approval
		Context  context.Context
		Reply    chan<- approval.Answer // takes one without waiting
	}

	printed struct{}
)

// Chat is a conversation with an agent on a terminal, as a [tea.Model]. Earlier text stays
// above. Below it are the answer so far, the running subagents and the input line.
type Chat struct {
	ctx   context.Context
	agent Agent
	on    terminal.Output
	now   func() time.Time

	width, height int
	input         textarea.Model
	history       []string
	at            int    // in history; its length: the line that is typed
	draft         string // that line, while another one is shown

	root        string // the session's id; empty means not opened
	tree        *live.Tree
	seq         uint64 // of the last fact
	message     string // the id of the message whose text comes
	text        string // of it, what is not printed yet
	printedText bool   // something of this turn's last message was printed
	calls       map[string]string
	failed      int // subagents of the agent itself that have said how they failed

	running  bool
	began    time.Time
	stop     context.CancelFunc // of the turn
	answered *Answered          // the turn has ended; nil means it has not
	asked    []Asked            // the first one is asked now
	always   bool               // it may be answered by "always"
	whole    bool               // all of it is shown
	stash    string             // what was typed before it was asked

	out      []string // lines to print
	printing bool
	note     string
	greeting string // printed first
	first    string // the prompt to begin with
	leaving  bool   // ctrl-c was pressed, and ends the conversation when it is again
	quitting bool   // it ends with the turn
}

// NewChat returns the screen of a conversation, which begins with a greeting and, unless it
// is empty, a first prompt. What it has the agent do ends with ctx.
func NewChat(ctx context.Context, agent Agent, on terminal.Output, now func() time.Time, greeting, first string) *Chat {
	input := textarea.New()
	input.ShowLineNumbers = false
	input.Prompt = "> "
	input.SetVirtualCursor(false)
	input.SetStyles(textarea.Styles{}) // without styles
	input.DynamicHeight, input.MinHeight, input.MaxHeight, input.MaxContentHeight, input.CharLimit = true, 1, 5, 5000, 0
	input.KeyMap.InsertNewline.SetKeys("ctrl+j", "alt+enter", "shift+enter")
	input.KeyMap.Paste.SetEnabled(false) // it would ask another program for the clipboard
	m := &Chat{ctx: ctx, agent: agent, on: on, now: now, input: input, tree: &live.Tree{}, calls: make(map[string]string), width: 80, height: 24, greeting: greeting, first: first}
	m.input.Focus()
	return m
}

// Init implements [tea.Model].
func (m *Chat) Init() tea.Cmd { return wait() }

// Update implements [tea.Model].
func (m *Chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.input.SetWidth(max(4, m.width-1))
		cmd = m.begin()
	case tick:
		cmd = wait()
	case printed:
		m.printing = false
	case outcome:
		m.print("", msg.text)
	case Opened:
		m.root, m.tree, m.text, m.message, m.seq = msg.ID, &live.Tree{}, "", "", 0
	case Facts:
		for _, f := range msg {
			m.hear(f)
		}
	case Answered:
		m.answered = &msg
	case Asked:
		m.asked = append(m.asked, msg)
		if len(m.asked) == 1 {
			m.ask()
		}
	case tea.PasteMsg:
		m.leaving = false
		m.input, cmd = m.input.Update(tea.PasteMsg{Content: termtext.Printable(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(msg.Content))})
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	m.unask()
	cmd = tea.Batch(cmd, m.finish())
	return m, tea.Batch(cmd, m.flush())
}

// begin prints the greeting and makes the first prompt. It is called once the size is
// known.
func (m *Chat) begin() tea.Cmd {
	m.print(terminal.Dim, m.greeting)
	first := m.first
	m.greeting, m.first = "", ""
	if first == "" {
		return nil
	}
	m.echo(first)
	return m.prompt(first)
}

// prompt begins a turn.
func (m *Chat) prompt(text string) tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	m.running, m.began, m.stop, m.answered, m.printedText = true, m.now(), stop, nil, false
	m.failed = 0
	return func() tea.Msg { return m.agent.Prompt(ctx, text) }
}

// finish ends the turn, once the answer is there and all of it was shown.
func (m *Chat) finish() tea.Cmd {
	if m.answered == nil || m.seq < m.answered.Seq && m.ctx.Err() == nil {
		return nil
	}
	m.say(true)
	a := m.answered
	m.running, m.answered = false, nil
	m.stop()
	switch {
	case a.Err != nil:
		m.print(terminal.Red, errtext.Of(a.Err))
	case !m.printedText:
		m.print("", a.Text)
	}
	m.out = append(m.out, "")
	if m.note = ""; m.leaving {
		m.note = again
	}
	if m.quitting {
		return tea.Quit
	}
	return nil
}

// print prints a text above the screen, in lines that fit.
func (m *Chat) print(paint terminal.Color, text string) {
	if text == "" {
		return
	}
	for _, line := range terminal.Lines(termtext.Printable(text), m.width) {
		m.out = append(m.out, m.on.Paint(paint, line))
	}
}

// flush prints the waiting lines above the screen: as many at once as fit, one part after
// the other.
func (m *Chat) flush() tea.Cmd {
	if m.printing || len(m.out) == 0 {
		return nil
	}
	n := min(len(m.out), max(1, m.height-strings.Count(m.View().Content, "\n")-2))
	text := strings.Join(m.out[:n], "\n")
	if text == "" {
		text = " " // an empty text is not printed
	}
	m.out, m.printing = slices.Clone(m.out[n:]), true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}
