package terminal

import (
	"context"

	tea "charm.land/bubbletea/v2"
)

// Run shows a program on the terminal until the user ends it, or ctx ends. feed gets what
// it is to send its messages to; Run waits for it.
func Run(ctx context.Context, m tea.Model, feed func(ctx context.Context, send func(tea.Msg)), options ...tea.ProgramOption) error {
	program := tea.NewProgram(m, append([]tea.ProgramOption{tea.WithContext(ctx), tea.WithoutSignalHandler()}, options...)...)
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
