package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// progress shows a stream to a person: a line for each tool call that ended
// and for each session that began or ended. On a terminal a last line says
// what is going on at the moment.
type progress struct {
	w        io.Writer
	terminal bool
	start    time.Time
	calls    map[string]eventbus.ToolCallStart // running, by session and call
	live     string                            // the last line as it stands there
}

func newProgress(w io.Writer, terminal bool) *progress {
	return &progress{w: w, terminal: terminal, calls: make(map[string]eventbus.ToolCallStart)}
}

// show shows one delivery. What can't be decoded is passed over: the stream
// has it, and the display is not the place to fail.
func (p *progress) show(d eventbus.Delivery) {
	agent, session := "", ""
	raw := d.Raw
	for {
		ev, err := eventbus.Decode(raw)
		if err != nil {
			return
		}
		env, ok := ev.(eventbus.SubagentEvent)
		if !ok {
			p.event(d.Time, agent, session, ev)
			return
		}
		agent, session, raw = env.AgentType, env.SessionID, env.Event
	}
}

func (p *progress) event(at time.Time, agent, session string, ev eventbus.Event) {
	if p.start.IsZero() {
		p.start = at
	}
	key := func(callID string) string { return session + " " + callID }
	switch ev := ev.(type) {
	case eventbus.SessionStart:
		if ev.AgentType != "" {
			p.line(at, ev.AgentType, fmt.Sprintf("started as %s on %s", ev.SessionID, ev.Model))
		} else {
			p.line(at, "", "session "+ev.SessionID)
		}
	case eventbus.ToolCallStart:
		p.calls[key(ev.ToolCallID)] = ev
		p.now(at, agent, ev)
	case eventbus.ToolCallEnd:
		call := p.calls[key(ev.ToolCallID)]
		delete(p.calls, key(ev.ToolCallID))
		if ev.ToolName == "task" && agent == "" && !ev.IsError {
			return // its child has told all of it
		}
		p.line(at, agent, fmt.Sprintf("step %d  %s  %s  %s", call.Step, call.Summary(), outcome(ev), ms(ev.DurationMs)))
	case eventbus.ToolApprovalRequired:
		if p.terminal {
			return // the question itself stands there
		}
		p.line(at, agent, fmt.Sprintf("waits for 'worker approvals approve %s': %s", ev.ApprovalID, ev.Summary()))
	case eventbus.AgentsChanged:
		p.line(at, agent, ev.Summary())
	case eventbus.Error:
		p.line(at, agent, "error: "+eventbus.OneLine(ev.Message, 300))
	case eventbus.SessionEnd:
		if agent != "" {
			p.line(at, agent, ev.Status)
		}
		p.clear()
	}
}

// line writes a line that stays.
func (p *progress) line(at time.Time, agent, text string) {
	p.clear()
	if agent != "" {
		text = agent + "  " + text
	}
	fmt.Fprintf(p.w, "[%7.2fs] %s\n", at.Sub(p.start).Seconds(), text)
}

// now shows, on a terminal, the call that has begun last.
func (p *progress) now(at time.Time, agent string, call eventbus.ToolCallStart) {
	if !p.terminal {
		return
	}
	p.clear()
	p.live = eventbus.OneLine(fmt.Sprintf("[%7.2fs] %s  step %d  %s …", at.Sub(p.start).Seconds(), agent, call.Step, call.Summary()), 78)
	fmt.Fprint(p.w, p.live)
}

func (p *progress) clear() {
	if p.live != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.live = ""
	}
}

func outcome(end eventbus.ToolCallEnd) string {
	if end.IsError {
		return "failed: " + eventbus.OneLine(end.Result, 200)
	}
	lines := strings.Count(strings.TrimRight(end.Result, "\n"), "\n") + 1
	word := "lines"
	if lines == 1 {
		word = "line"
	}
	return fmt.Sprintf("ok, %d %s", lines, word)
}

func ms(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%dms", n)
	}
	return fmt.Sprintf("%.1fs", float64(n)/1000)
}
