// Package progress shows to a person what a session and its children do.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/live"
	"github.com/agentworker/worker/session/record"
)

// Progress shows a stream to a person: a line for each tool call that ended and
// for each session that began or ended. What goes on at the moment is on the
// live lines of a terminal, and elsewhere in a line every 10 s.
type Progress struct {
	w    io.Writer
	on   terminal.Output  // w
	live *terminal.Screen // nil means no live lines

	// Answered says that approvals are asked for on this terminal, or given
	// without asking: no command is needed to give one.
	Answered bool

	start    time.Time                      // of the stream, by the store's clock
	last     time.Time                      // of the latest line, by our own
	calls    map[string]event.ToolCallStart // running, by session and call
	tree     live.Tree                      // by our own clock; without the sessions that have ended
	tokens   int64                          // that all of them have used, ended ones too
	refusals []Refusal
}

// quiet is the longest silence where there are no live lines.
const quiet = 10 * time.Second

// New returns a progress that writes to w, and to the live lines of a terminal; nil means
// there are none. on says what w can show.
func New(w io.Writer, on terminal.Output, live *terminal.Screen) *Progress {
	if live != nil && !live.Redraws {
		live = nil
	}
	return &Progress{w: w, on: on, live: live, calls: make(map[string]event.ToolCallStart)}
}

// Refusals returns the calls that were refused, as far as they were shown.
func (p *Progress) Refusals() []Refusal { return p.refusals }

// Show shows one delivery that has come now. It ignores what it
// can't decode: the stream has it, and the display must not fail the call.
func (p *Progress) Show(d eventbus.Delivery, now time.Time) {
	e, err := live.Decode("", d.Raw, now, d.Seq)
	if err != nil {
		return
	}
	if p.start.IsZero() {
		p.start = d.Time
		p.last = now
	}
	p.tree.Apply(e)
	if used, ok := e.Event.(event.Usage); ok {
		p.tokens += used.InputTokens + used.OutputTokens
	}
	if _, ended := e.Event.(event.SessionEnd); ended {
		p.tree.Remove(e.ID())
	}
	agent := e.Path[len(e.Path)-1].AgentType
	p.event(d.Time, now, termtext.OneLine(agent, termtext.MaxLabel), e.ID(), e.Event)
}

func (p *Progress) event(at, now time.Time, agent, session string, ev event.Event) {
	key := session + " "
	line := func(text string) { p.line(at.Sub(p.start), now, agent, text) }
	switch ev := ev.(type) {
	case event.SessionStart:
		if ev.AgentType != "" {
			p.line(at.Sub(p.start), now, termtext.OneLine(ev.AgentType, termtext.MaxLabel), fmt.Sprintf("started as %s on %s", ev.SessionID, termtext.OneLine(ev.Model, termtext.MaxLabel)))
		} else {
			line("session " + ev.SessionID)
		}
	case event.StatusChange:
		if ev.Pause != nil {
			line(p.on.Paint(terminal.Yellow, fmt.Sprintf("paused until %s: %s", ev.Pause.Until.Local().Format(time.TimeOnly), termtext.OneLine(ev.Pause.Reason, termtext.MaxLabel))))
		}
		if ev.Retry != nil {
			line(p.on.Paint(terminal.Yellow, ev.Retry.SummaryAfter(0)))
		}
	case event.ModelRetry:
		line(p.on.Paint(terminal.Yellow, ev.SummaryAfter(0)))
	case event.ToolCallStart:
		p.calls[key+ev.ToolCallID] = ev
	case event.ToolCallEnd:
		call := p.calls[key+ev.ToolCallID]
		delete(p.calls, key+ev.ToolCallID)
		if ev.Refused {
			p.refusals = append(p.refusals, Refusal{agent, session, call, ev.Result, ev.Rule})
		}
		if ev.ToolName == "task" && (agent == "" || !ev.IsError) {
			return // its child, or what comes after, tells all of it
		}
		line(fmt.Sprintf("step %d  %s  %s  %s", call.Step, call.Summary(), p.outcome(ev), ms(ev.DurationMs)))
	case event.ToolApprovalRequired:
		if text := waits(ev); ev.SecondPerson || !p.Answered {
			line(text)
		}
	case event.QuestionAsked:
		if !p.Answered {
			line(fmt.Sprintf("waits for an answer%s, or 'worker approvals answer %s ANSWER': %s", place(ev.Where), ev.QuestionID, strconv.Quote(ev.Summary())))
		}
	case event.Todo:
		if p := record.ProgressOf(ev); p != nil {
			line("todo  " + p.String())
		}
	case event.ModelPicked:
		line("picked " + ev.Name + ", which is " + ev.Model)
	case event.ModelSwitched:
		line(fmt.Sprintf("goes on with %s, since %s has failed: %s", ev.To, ev.From, termtext.OneLine(ev.Reason, termtext.MaxCause)))
	case event.AgentChanged:
		line(fmt.Sprintf("goes on as %s on %s", ev.Agent, ev.Model))
	case event.Check:
		outcome := p.on.Paint(terminal.Green, "ok")
		if !ev.OK {
			outcome = p.on.Paint(terminal.Red, "failed: "+termtext.OneLine(ev.Output, termtext.MaxLabel))
		}
		line(fmt.Sprintf("check  %s  %s  %s", termtext.OneLine(cmp.Or(ev.Path, ev.Command), termtext.MaxLabel), outcome, ms(ev.DurationMs)))
	case event.Warning:
		line(p.on.Paint(terminal.Yellow, "warning: "+termtext.OneLine(ev.Message, termtext.MaxQuestion)))
	case event.SessionResumed:
		line(p.on.Paint(terminal.Yellow, ev.Summary()))
	case event.Stalled:
		text := "stalled: nothing for " + ms(ev.IdleMs)
		if ev.StopsInMs > 0 {
			text += ", stopped in " + ms(ev.StopsInMs)
		}
		line(p.on.Paint(terminal.Yellow, text))
	case event.AssignmentChanged:
		line("assignment  " + termtext.OneLine(strings.TrimSpace(ev.Role+"  "+ev.Objective), termtext.MaxLabel))
	case event.MovedToBackground:
		line("moved to the background by " + termtext.OneLine(ev.By, termtext.MaxLabel))
	case event.Budget:
		line(p.on.Paint(terminal.Yellow, ev.Summary()))
	case event.AgentsChanged:
		line(ev.Summary())
	case event.SessionEnd:
		if agent != "" {
			line(p.on.Paint(StatusColor(string(ev.Status)), ev.Words()))
		}
	}
}

// line writes a line that stays.
func (p *Progress) line(at time.Duration, now time.Time, agent, text string) {
	p.last = now
	if agent != "" {
		text = agent + "  " + text
	}
	fmt.Fprintf(p.w, "%s %s\n", p.on.Paint(terminal.Dim, stamp(at)), text)
}

func stamp(at time.Duration) string { return fmt.Sprintf("[%7.2fs]", at.Seconds()) }

// outcome says in a few words how a call ended; what a refusal says stands at
// the end of the run.
func (p *Progress) outcome(end event.ToolCallEnd) string {
	switch {
	case end.Refused:
		reason, _, _ := strings.Cut(end.Result, gate.RuleHint) // which the end of the run shows
		return p.on.Paint(terminal.Yellow, "failed: "+termtext.OneLine(reason, termtext.MaxQuestion))
	case end.IsError:
		return p.on.Paint(terminal.Red, "failed: "+termtext.OneLine(end.Result, termtext.MaxLabel))
	}
	lines := strings.Count(strings.TrimRight(end.Result, "\n"), "\n") + 1
	return p.on.Paint(terminal.Green, "ok") + ", " + termtext.Plural(lines, "line")
}

// StatusColor is the colour of a session's status, or of an outcome.
func StatusColor(status string) terminal.Color {
	if status == "approved" || status == "ok" {
		return terminal.Green
	}
	return toneColors[event.Status(status).Tone()]
}

var toneColors = map[event.Tone]terminal.Color{
	event.ToneGood: terminal.Green, event.ToneBad: terminal.Red, event.ToneAttention: terminal.Yellow,
}

func ms(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%dms", n)
	}
	return fmt.Sprintf("%.1fs", float64(n)/1000)
}

// waits says that a call waits for permission.
func waits(ev event.ToolApprovalRequired) string {
	if ev.SecondPerson {
		return fmt.Sprintf("waits for the approval of a second person%s, %s: %s", place(ev.Where), ev.ApprovalID, ev.Summary())
	}
	return fmt.Sprintf("waits for an answer%s, or 'worker approvals approve %s': %s", place(ev.Where), ev.ApprovalID, ev.Summary())
}

// place returns where somebody may answer, as part of a sentence.
func place(where string) string {
	if where == "" {
		return ""
	}
	return " at " + termtext.Printable(where)
}
