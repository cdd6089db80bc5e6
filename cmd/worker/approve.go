package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
)

// approver returns who answers what the rules ask: everything is approved, or
// the user at the terminal is asked; nil where there is no terminal.
func (p *program) approver(yes bool) session.Approver {
	switch {
	case yes:
		return session.AlwaysYes
	case p.stdinTTY && p.errTTY:
		return &terminalApprover{p: p}
	default:
		return nil
	}
}

// terminalApprover asks the user, one question at a time.
type terminalApprover struct {
	p     *program
	once  sync.Once
	lines chan string // what the user types; closed at its end
}

// Approve implements [session.Approver].
func (t *terminalApprover) Approve(ctx context.Context, req *session.ApprovalRequest) (session.Answer, error) {
	t.p.screen.Lock() // progress waits, and loses nothing: it reads from the store
	defer t.p.screen.Unlock()
	t.once.Do(t.read)
	w := t.p.stderr
	fmt.Fprintf(w, "\r\x1b[K%s asks to call %s\n", eventbus.OneLine(req.Agent, 60), eventbus.OneLine(eventbus.ToolCallStart{ToolName: req.Tool, Arguments: req.Arguments}.Summary(), 400))
	fmt.Fprintf(w, "  %s\n", eventbus.OneLine(req.Decision.Reason(), 400))
	always := ""
	if len(req.AlwaysPatterns) > 0 {
		always = "   [a] always: " + eventbus.OneLine(strings.Join(req.AlwaysPatterns, ", "), 120)
	}
	for {
		fmt.Fprintf(w, "  [y] yes, this time%s   [n REASON] no > ", always)
		select {
		case <-ctx.Done():
			fmt.Fprintln(w)
			return session.Answer{}, context.Cause(ctx)
		case line, ok := <-t.lines:
			if !ok {
				return session.Answer{}, errors.New("the terminal was closed")
			}
			if answer, ok := parseAnswer(line); ok {
				return answer, nil
			}
		}
	}
}

// read starts the one reader of stdin. A read can't be interrupted: it ends
// with its input or with the process.
func (t *terminalApprover) read() {
	t.lines = make(chan string)
	go func() {
		defer close(t.lines)
		in := bufio.NewScanner(t.p.stdin)
		for in.Scan() {
			t.lines <- in.Text()
		}
	}()
}

func parseAnswer(line string) (session.Answer, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		return session.Answer{Verdict: session.ApproveOnce}, true
	case "a", "always":
		return session.Answer{Verdict: session.ApproveAlways}, true
	case "n", "no":
		return session.Answer{Verdict: session.DenyCall, Feedback: strings.TrimSpace(rest)}, true
	default:
		return session.Answer{}, false
	}
}
