// Package tui draws on a terminal and reads keys from it. [Top] is the tree of sessions of
// 'worker top', [Chat] the conversation of 'worker run -i'. Calls that wait for approval
// and answers in Markdown are rendered here, too.
package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/agentworker/worker/internal/errtext"
)

// Run shows m on the terminal until the user ends it, or ctx ends. feed sends it messages
// from elsewhere until its context ends; Run waits for it.
func Run(ctx context.Context, m tea.Model, feed func(ctx context.Context, send func(tea.Msg)), environ []string) error {
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithEnvironment(environ))
	feeding, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		feed(feeding, program.Send)
	}()
	_, err := program.Run()
	stop()
	<-done
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// tick has the ages redrawn, every second.
type tick struct{}

func wait() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// outcome is what an action has done, or why it failed.
type outcome struct{ text string }

// do returns the command that runs an action. Its outcome comes as a message.
func do(action func() (string, error)) tea.Cmd {
	return func() tea.Msg {
		text, err := action()
		if err != nil {
			text = errtext.Of(err)
		}
		return outcome{text}
	}
}
