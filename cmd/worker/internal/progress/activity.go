package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/live"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// activity is what a session does at the moment.
type activity struct {
	session string // empty means the root
	agent   string
	label   string // what it is to do, in a few words
	model   string
	depth   int   // how many sessions are above it, below the root
	tokens  int64 // that it has used
	status  event.Status
	since   time.Time // the status is that; by our own clock
	retry   *event.Retry
	told    time.Time // of retry
	said    string    // the end of what the model has said in this call
	chars   int       // all that it has said in this call
	calls   []call    // that run, without those of task
}

type call struct {
	id, text string
	step     int
	since    time.Time
}

const (
	tail    = 2000 // how much of a model's text is kept for the live lines, in bytes
	longest = 200  // bounds each other text of a session, in characters
)

// note keeps account of what the sessions do.
func (p *Progress) note(depth int, session string, ev event.Event, now time.Time) {
	i := slices.IndexFunc(p.active, func(a *activity) bool { return a.session == session })
	if start, ok := ev.(event.SessionStart); ok && i < 0 && start.AgentType != "" {
		p.active = append(p.active, &activity{
			session: session, agent: termtext.OneLine(start.AgentType, longest), label: termtext.OneLine(start.Description, longest),
			model: termtext.OneLine(start.Model, longest), depth: depth, since: now,
		})
		return
	}
	if i < 0 {
		return
	}
	a := p.active[i]
	switch ev := ev.(type) {
	case event.StatusChange:
		if ev.Retry != nil {
			a.retry, a.told = ev.Retry, now
			return
		}
		a.status, a.since, a.retry, a.said, a.chars = ev.Status, now, nil, "", 0
	case event.ContentDelta:
		a.says(ev.Delta)
	case event.ReasoningDelta:
		a.says(ev.Delta)
	case event.ToolCallStart:
		if ev.ToolName != "task" {
			a.calls = append(a.calls, call{ev.ToolCallID, termtext.OneLine(ev.Summary(), longest), ev.Step, now})
		}
	case event.ToolCallEnd:
		a.calls = slices.DeleteFunc(a.calls, func(c call) bool { return c.id == ev.ToolCallID })
	case event.Usage:
		a.tokens += ev.InputTokens + ev.OutputTokens
		p.tokens += ev.InputTokens + ev.OutputTokens
	case event.SessionEnd:
		p.active = slices.Delete(p.active, i, i+1)
	}
}

func (a *activity) says(text string) {
	a.retry = nil
	a.chars += len([]rune(text))
	if a.said += text; len(a.said) > tail {
		a.said = strings.ToValidUTF8(a.said[len(a.said)-tail:], "")
	}
}

// doing says what the session does now; empty means nothing of its own.
func (a *activity) doing(now time.Time) string {
	if len(a.calls) > 0 {
		first := a.calls[0]
		text := fmt.Sprintf("step %d  %s  %s", first.step, first.text, age(now, first.since))
		if n := len(a.calls) - 1; n > 0 {
			text += fmt.Sprintf(", and %d more", n)
		}
		return text
	}
	switch a.status {
	case event.StatusQueued:
		return "waits for a free place  " + age(now, a.since)
	case event.StatusWaitingApproval:
		return "waits for approval  " + age(now, a.since)
	case event.StatusPaused:
		return "paused  " + age(now, a.since)
	case event.StatusStreaming:
		if a.retry != nil {
			return fmt.Sprintf("%s  %s", age(now, a.since), termtext.OneLine(a.retry.SummaryAfter(now.Sub(a.told)), longest))
		}
		return fmt.Sprintf("%s  %s", a.model, age(now, a.since))
	}
	return ""
}

// age is how long ago something was, in at most four characters.
func age(now, then time.Time) string { return live.Short(max(0, now.Sub(then))) }

// Tick shows what goes on: on the live lines, else in a line when nothing has been said
// for a while.
func (p *Progress) Tick(now time.Time) {
	if p.live != nil {
		p.live.Show(p.lines(now)...)
		return
	}
	if now.Sub(p.last) < quiet {
		return
	}
	for _, a := range p.active {
		text := a.doing(now)
		if text == "" {
			continue
		}
		if a.chars > 0 && len(a.calls) == 0 {
			text += fmt.Sprintf(", %d characters so far", a.chars)
		}
		p.last = now
		fmt.Fprintf(p.w, "%s %s  %s\n", p.on.Paint(terminal.Dim, stamp(p.elapsed(now))), a.agent, text)
	}
}

// elapsed is how long the stream goes on, by our own clock, near enough.
func (p *Progress) elapsed(now time.Time) time.Duration {
	if p.start.IsZero() {
		return 0
	}
	return now.Sub(p.start)
}
