package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// active returns the agents at work, in the order in which they began.
func (p *Progress) active() []*live.Session {
	agents := slices.DeleteFunc(slices.Collect(p.tree.All()), func(s *live.Session) bool { return s.Agent == "" })
	slices.SortFunc(agents, func(a, b *live.Session) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.ID, b.ID))
	})
	return agents
}

// doing says what an agent does now; empty means nothing of its own.
func doing(s *live.Session, now time.Time) string {
	if calls := s.OwnCalls(); len(calls) > 0 {
		first := calls[0]
		text := fmt.Sprintf("step %d  %s  %s", first.Step, termtext.OneLine(first.Summary, termtext.MaxLabel), age(now, first.Since))
		if n := len(calls) - 1; n > 0 {
			text += fmt.Sprintf(", and %d more", n)
		}
		return text
	}
	since := age(now, s.Since)
	switch words := s.Activity.Words(); {
	case words == "":
		return ""
	case s.Activity != event.StatusStreaming:
		return words + "  " + since
	case s.Retry != nil:
		return since + "  " + termtext.OneLine(s.Retry.SummaryAfter(now.Sub(s.RetryAt)), termtext.MaxLabel)
	}
	return termtext.OneLine(s.Model, termtext.MaxLabel) + "  " + since
}

// age is how long ago something was, in at most four characters.
func age(now, then time.Time) string { return termtext.Duration(max(0, now.Sub(then))) }

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
	for _, a := range p.active() {
		text := doing(a, now)
		if text == "" {
			continue
		}
		if a.TextSize > 0 && len(a.OwnCalls()) == 0 {
			text += fmt.Sprintf(", %d characters so far", a.TextSize)
		}
		p.last = now
		fmt.Fprintf(p.w, "%s %s  %s\n", p.on.Paint(terminal.Dim, stamp(p.elapsed(now))), termtext.OneLine(a.Agent, termtext.MaxLabel), text)
	}
}

// elapsed is how long the stream goes on, by our own clock, near enough.
func (p *Progress) elapsed(now time.Time) time.Duration {
	if p.start.IsZero() {
		return 0
	}
	return now.Sub(p.start)
}
