package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// activity is what a session does at the moment.
type activity struct {
	session string // empty means the root
	agent   string
	model   string
	status  event.Status
	since   time.Time // the status is that; by our own clock
	retry   *event.Retry
	told    time.Time // of retry
	text    string    // the end of what the model has said in this call
	chars   int       // all that it has said in this call
	calls   []call    // that run, without those of task
}

type call struct {
	id, text string
	step     int
	since    time.Time
}

// tail is how much of a model's text is kept for the live line, in bytes.
const tail = 2000

// note keeps account of what the sessions do.
func (p *Progress) note(agent, session string, ev event.Event, now time.Time) {
	i := slices.IndexFunc(p.active, func(a *activity) bool { return a.session == session })
	if start, ok := ev.(event.SessionStart); ok && i < 0 && start.AgentType != "" {
		p.active = append(p.active, &activity{session: session, agent: start.AgentType, model: start.Model, since: now})
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
		a.status, a.since, a.retry, a.text, a.chars = ev.Status, now, nil, "", 0
	case event.ContentDelta:
		a.said(ev.Delta)
	case event.ReasoningDelta:
		a.said(ev.Delta)
	case event.ToolCallStart:
		if ev.ToolName != "task" {
			a.calls = append(a.calls, call{ev.ToolCallID, ev.Summary(), ev.Step, now})
		}
	case event.ToolCallEnd:
		a.calls = slices.DeleteFunc(a.calls, func(c call) bool { return c.id == ev.ToolCallID })
	case event.SessionEnd:
		p.active = slices.Delete(p.active, i, i+1)
	}
}

func (a *activity) said(text string) {
	a.retry = nil
	a.chars += len([]rune(text))
	if a.text += text; len(a.text) > tail {
		a.text = strings.ToValidUTF8(a.text[len(a.text)-tail:], "")
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
			return fmt.Sprintf("%s  %s", age(now, a.since), a.retry.SummaryAfter(now.Sub(a.told)))
		}
		return fmt.Sprintf("%s  %s", a.model, age(now, a.since))
	}
	return ""
}

// age is how long ago something was, in whole seconds.
func age(now, then time.Time) string {
	return fmt.Sprintf("%d s", max(0, int(now.Sub(then).Seconds())))
}

// Tick shows what goes on: on the live line, else in a line when nothing has
// been said for a while.
func (p *Progress) Tick(now time.Time) {
	var doing []string
	var one *activity
	for _, a := range p.active {
		if text := a.doing(now); text != "" {
			doing, one = append(doing, a.agent+"  "+text), a
		}
	}
	at := stamp(now.Sub(p.begun(now)))
	switch {
	case p.live != nil && len(doing) == 0:
		p.live.Show("")
	case p.live != nil && len(doing) == 1:
		p.live.Show(withText(at+" "+doing[0], one, p.live.Columns()-1))
	case p.live != nil:
		p.live.Show(fmt.Sprintf("%s %d at work: %s", at, len(doing), strings.Join(doing, " | ")))
	case now.Sub(p.last) >= quiet && len(doing) > 0:
		p.last = now
		if len(doing) == 1 && one.chars > 0 {
			doing[0] += fmt.Sprintf(", %d characters so far", one.chars)
		}
		for _, text := range doing {
			fmt.Fprintf(p.w, "%s %s\n", p.on.Paint(terminal.Dim, at), text)
		}
	}
}

// begun is the start of the stream by our own clock, near enough.
func (p *Progress) begun(now time.Time) time.Time {
	if p.start.IsZero() {
		return now
	}
	return p.start
}

// withText adds the end of what the model says, as far as there is room.
func withText(line string, a *activity, columns int) string {
	room := columns - terminal.Cells(line) - 2
	if a.text == "" || len(a.calls) > 0 || room < 10 {
		return line
	}
	return line + "  " + terminal.FitEnd(strings.TrimSpace(termtext.OneLine(a.text, tail)), room)
}
