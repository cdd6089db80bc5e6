package progress

import (
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// lines are the live lines: one where one agent works, else one of all, and one of each.
func (p *Progress) lines(now time.Time) []string {
	var rows []row
	for _, a := range p.active() {
		if text := doing(a, now); text != "" {
			rows = append(rows, row{a, text})
		}
	}
	head := spin(now) + " " + termtext.Duration(p.elapsed(now))
	width := p.live.Columns() - 1
	switch len(rows) {
	case 0:
		return nil
	case 1:
		line := fmt.Sprintf("%s  %s  %s%s", head, termtext.OneLine(rows[0].Agent, termtext.MaxLabel), rows[0].text, tokens("  ", p.tokens))
		return []string{rows[0].withText(line, width)}
	}
	lines := []string{fmt.Sprintf("%s  %s at work%s", head, termtext.Plural(len(rows), "agent"), tokens("  ", p.tokens))}
	room, more := p.live.Room()-1, 0
	if len(rows) > room {
		more = len(rows) - max(0, room-1)
		rows = rows[:len(rows)-more]
	}
	lines = append(lines, table(rows, width)...)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  … %d more", more))
	}
	return lines
}

// row is an agent that works, and what it does.
type row struct {
	*live.Session
	text string
}

// used is the tokens that the agent has used.
func (r row) used() int64 { return r.Usage.InputTokens + r.Usage.OutputTokens }

// table returns a line for each agent: its name and task, its activity, and its tokens.
func table(rows []row, width int) []string {
	names, widest, used := make([]string, len(rows)), 0, 0
	for i, r := range rows {
		name := strings.Repeat("  ", len(r.Path)-1) + r.Name()
		names[i] = terminal.Fit(name, width*2/5)
		widest, used = max(widest, terminal.Cells(names[i])), max(used, len(tokens("", r.used())))
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		doing := max(0, width-widest-used-2*len(gap))
		lines[i] = strings.TrimRight(terminal.Pad(names[i], widest, false)+gap+terminal.Pad(r.text, doing, false)+gap+tokens("", r.used()), " ")
	}
	return lines
}

const gap = "  " // between two columns

// withText adds the end of what the model says, as far as there is room.
func (r row) withText(line string, columns int) string {
	room := columns - terminal.Cells(line) - len(gap)
	if r.Text == "" || len(r.OwnCalls()) > 0 || room < 10 {
		return line
	}
	return line + gap + terminal.FitEnd(strings.TrimSpace(termtext.OneLine(r.Text, len(r.Text))), room)
}

// tokens returns a count of tokens after a text; empty for none.
func tokens(before string, n int64) string {
	if n == 0 {
		return ""
	}
	return before + termtext.Count(n) + " tokens"
}

// spin is the picture of the spinner at a time.
func spin(now time.Time) string {
	pictures := spinner.MiniDot.Frames
	return pictures[int(now.UnixMilli()/redraw)%len(pictures)]
}

// redraw is for how long a picture of the spinner stands, in milliseconds.
const redraw = 200
