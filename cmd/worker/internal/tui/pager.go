package tui

import (
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
)

// pager shows a text that may be longer than the screen.
type pager struct {
	text  string
	lines []string // as wide as the screen
	at    int      // the first one that is shown
	end   bool     // it stays at the end as the text grows
	seen  bool     // its end was on the screen
}

// set replaces the text.
func (p *pager) set(text string, width, height int) {
	p.text = text
	p.lines = terminal.Lines(termtext.Printable(text), width)
	p.move(0, height)
}

// move moves on by lines, as far as there are some.
func (p *pager) move(by, height int) {
	last := max(0, len(p.lines)-height)
	if p.end && by == 0 {
		p.at = last
	}
	p.at = min(max(0, p.at+by), last)
	p.end = p.end && by == 0 || by > 0 && p.at == last
	p.seen = p.seen || p.at == last && len(p.lines) > 0
}

// below says how many lines follow the screen; empty means none.
func (p *pager) below(height int) string {
	if n := len(p.lines) - p.at - height; n > 0 {
		return "↓ " + termtext.Plural(n, "more line")
	}
	return ""
}

// key moves as a key says. It reports whether the key is one of the pager's.
func (p *pager) key(key string, height int) bool {
	by, ok := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -height, "pgdown": height, "space": height,
		"home": -len(p.lines), "g": -len(p.lines), "end": len(p.lines), "G": len(p.lines),
	}[key]
	if ok {
		p.move(by, height)
	}
	return ok
}

// view is what is shown of the text, height lines.
func (p *pager) view(height int) string {
	shown := p.lines[min(p.at, len(p.lines)):min(p.at+height, len(p.lines))]
	return strings.Join(shown, "\n") + strings.Repeat("\n", height-len(shown))
}
