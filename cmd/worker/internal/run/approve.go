package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// asks reports whether the user at the terminal can be asked.
func (p commands) asks() bool { return p.StdinTTY && p.ErrTerm.IsTerminal() }

// approver answers what the rules ask: with yes it approves everything, else it asks the
// user at the terminal. It is nil without a terminal.
func (p commands) approver(yes bool) approval.Approver {
	switch {
	case yes:
		return approval.AlwaysYes
	case p.asks():
		return &terminalApprover{p: p, turn: make(chan struct{}, 1)}
	default:
		return nil
	}
}

// terminalApprover asks the user, one question at a time.
type terminalApprover struct {
	p     commands
	turn  chan struct{} // held by the question that is open
	once  sync.Once
	lines chan string // what the user types; closed at its end
}

// Approve implements [approval.Approver].
func (t *terminalApprover) Approve(ctx context.Context, a *approval.Approval) (approval.Answer, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done(): // answered elsewhere, or over, while another question was open
		return approval.Answer{}, context.Cause(ctx)
	}
	t.p.Asking.Lock() // progress waits, and loses nothing: it reads from the store
	defer t.p.Asking.Unlock()
	t.once.Do(t.read)
	select { // what was typed before this question does not answer it
	case <-t.lines:
	default:
	}
	w := t.p.Stderr
	always, whole := tui.WriteQuestion(w, a, question.Terminal, tui.QuestionWidth)
	for {
		fmt.Fprint(w, "  "+tui.Choices(a, always, whole))
		select {
		case <-ctx.Done():
			fmt.Fprintln(w, "\n  this question is over")
			return approval.Answer{}, context.Cause(ctx)
		case line, ok := <-t.lines:
			if !ok {
				return approval.Answer{}, errors.New("the terminal was closed")
			}
			reply, err := tui.ReadReply(a, line, always, whole)
			switch {
			case err != nil && a.Ask != nil:
				fmt.Fprintln(w, "  "+termtext.OneLine(err.Error(), termtext.MaxText))
			case err != nil:
			case reply.View:
				always, whole = tui.WriteQuestion(w, a, question.Whole, tui.QuestionWidth)
			default:
				reply.By = "the terminal"
				return reply.Answer, nil
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
		in := bufio.NewScanner(t.p.Stdin)
		for in.Scan() {
			t.lines <- in.Text()
		}
	}()
}
