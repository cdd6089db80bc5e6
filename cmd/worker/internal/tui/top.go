package tui

import (
	"cmp"
	"context"
	"slices"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
)

// maxPaste bounds what is pasted at once, in characters.
const maxPaste = 100_000

// Actions are what the user can do with a session. Each returns a line about what it has
// done.
type Actions interface {
	Log(ctx context.Context, sessionID string) (string, error)
	Send(ctx context.Context, sessionID, text string) (string, error)
	Stop(ctx context.Context, sessionID string) (string, error)
	Background(ctx context.Context, sessionID string) (string, error)
	StopCommand(ctx context.Context, sessionID, command string) (string, error)
	MoveCommand(ctx context.Context, sessionID string) (string, error)
	Answer(ctx context.Context, approvalID string, answer approval.Answer) (string, error)
}

// Top shows the sessions of a workspace as a tree, those first that need somebody. It is a
// [tea.Model].
type Top struct {
	ctx       context.Context // of the actions
	workspace string
	actions   Actions
	on        terminal.Output
	now       func() time.Time

	width, height int
	tree          *live.Tree
	rows          []live.Row
	pending       map[string]*approval.Approval // of the last list, by their ids
	running       int                           // sessions
	waiting       int                           // that need somebody
	listed        bool
	ended         bool   // ended sessions are shown, too
	selected      string // its id
	first         int    // the first row that is shown
	note          string // what was done last, or went wrong
	trouble       string // why the shown state may be old; empty means it is not

	mode    mode
	about   string             // the id of the session that mode is about
	command string             // of that session; empty means mode is not about one
	ask     *approval.Approval // that mode is about
	always  bool               // it may be answered by "always"
	pager   pager
	input   textinput.Model
}

// mode is what keys mean.
type mode int

const (
	browsing  mode = iota
	reading        // a session's log
	helping        // the help
	sending        // a line to a session is typed
	stopping       // whether to stop a session is asked
	approving      // an approval is shown, and whether it is given asked
	denying        // an approval is shown, and why it is not given typed
	answering      // a question of an agent is shown, and its answer typed
)

// fetched is a message with the log of a session.
type fetched struct{ id, text string }

// NewTop returns the screen of a workspace. Its actions end with ctx.
func NewTop(ctx context.Context, workspace string, actions Actions, on terminal.Output, now func() time.Time) *Top {
	input := textinput.New()
	input.SetVirtualCursor(false)
	input.SetStyles(textinput.Styles{})  // without styles
	input.KeyMap.Paste.SetEnabled(false) // it would ask another program for the clipboard
	return &Top{ctx: ctx, workspace: workspace, actions: actions, on: on, now: now, tree: &live.Tree{}, ended: true, width: 80, height: 24, input: input}
}

// Init implements [tea.Model].
func (m *Top) Init() tea.Cmd { return wait() }

// Update implements [tea.Model].
func (m *Top) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.pager.set(m.pager.text, m.width, m.body())
		if m.ask != nil {
			m.showAsk()
		}
	case tick:
		cmd = wait()
	case Listed:
		cmd = m.list(msg)
	case Facts:
		for _, ev := range msg {
			m.tree.Apply(ev)
		}
		cmd = m.reread(msg)
	case Trouble:
		m.trouble = termtext.OneLine(errtext.Of(msg.Err), termtext.MaxLine)
	case outcome:
		m.note = termtext.OneLine(msg.text, termtext.MaxLine)
	case fetched:
		if m.mode == reading && m.about == msg.id {
			m.pager.set(msg.text, m.width, m.body())
		}
	case tea.PasteMsg:
		if m.typing() {
			m.input, cmd = m.input.Update(tea.PasteMsg{Content: termtext.OneLine(msg.Content, maxPaste)})
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	m.arrange()
	return m, cmd
}

// list applies a list of the sessions.
func (m *Top) list(l Listed) tea.Cmd {
	m.listed, m.trouble = true, ""
	m.tree.List(l.Records)
	for _, ev := range l.Facts {
		m.tree.Apply(ev)
	}
	m.pending = make(map[string]*approval.Approval)
	var questions []live.Question
	for _, a := range l.Pending {
		m.pending[a.ID] = a
		questions = append(questions, live.Question{Since: a.CreatedAt, ToolApprovalRequired: a.Required(), Ask: a.Ask})
	}
	m.tree.Ask(questions)
	for _, r := range l.Records {
		m.tree.Get(r.ID).Lost = l.Lost[r.BootID] && !r.Status.Ended()
	}
	return nil
}

// reread reads the log again that is open, where there is something new in it.
func (m *Top) reread(facts Facts) tea.Cmd {
	if m.mode != reading {
		return nil
	}
	for _, f := range facts {
		if f.ID() != m.about {
			continue
		}
		switch f.Event.Type() {
		case "tool_call_start", "tool_call_end", "turn_complete", "session_end":
			return m.fetch(m.about)
		}
	}
	return nil
}

// fetch reads a session's log.
func (m *Top) fetch(id string) tea.Cmd {
	return func() tea.Msg {
		text, err := m.actions.Log(m.ctx, id)
		if err != nil {
			text = errtext.Of(err)
		}
		return fetched{id, text}
	}
}

// act starts an action, and shows begin until it has ended.
func (m *Top) act(begin string, action func() (string, error)) tea.Cmd {
	m.note = begin
	return do(action)
}

// arrange computes the rows, and which of them are on the screen.
func (m *Top) arrange() {
	m.rows = m.tree.Rows(m.ended)
	m.running, m.waiting = 0, 0
	at := 0
	for i, r := range m.rows {
		if !r.Status.Ended() {
			m.running++
		}
		if r.Needs() != "" {
			m.waiting++
		}
		if r.ID == m.selected {
			at = i
		}
	}
	if m.ask != nil && !m.open(m.ask) {
		m.note, m.ask, m.mode = "that call does not wait any more", nil, browsing
	}
	if len(m.rows) == 0 {
		m.selected, m.first = "", 0
		return
	}
	m.selected = m.rows[at].ID
	m.first = min(max(m.first, at-m.table()+1), at)
	m.first = max(0, min(m.first, len(m.rows)-m.table()))
}

// open reports whether an approval still waits.
func (m *Top) open(a *approval.Approval) bool {
	s := m.tree.Get(a.SessionID)
	return s != nil && slices.ContainsFunc(s.Questions, func(q live.Question) bool { return q.ApprovalID == a.ID })
}

// approval returns the approval that a question is about. The list of them says more than the
// event of one that is not listed yet.
func (m *Top) approval(s *live.Session, q live.Question) *approval.Approval {
	return cmp.Or(m.pending[q.ApprovalID], &approval.Approval{
		ID: q.ApprovalID, SessionID: s.ID, Agent: s.Agent, ToolCallID: q.ToolCallID, Tool: q.ToolName,
		Arguments: q.Arguments, Patterns: q.Patterns, AlwaysPatterns: q.AlwaysPatterns, Question: q.ToolApprovalRequired.Question, CreatedAt: q.Since, ExpiresAt: q.ExpiresAt, Ask: q.Ask, Path: s.Path,
	})
}

// row returns the selected row; nil means there is none.
func (m *Top) row() *live.Row {
	for i := range m.rows {
		if m.rows[i].ID == m.selected {
			return &m.rows[i]
		}
	}
	return nil
}
