package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// report sends progress notifications for a call until stop is called, if the host gave a
// token for them. It sends what the child does, at once, and repeats the last message
// after a silence. heard is how many messages the host has had before.
func (s *Server) report(ctx context.Context, req *mcp.CallToolRequest, of *group, heard int) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.reportUntil(ctx, req.Session, token, of, heard)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (s *Server) reportUntil(ctx context.Context, host *mcp.ServerSession, token any, of *group, heard int) {
	sent := 0.0
	send := func(text string) bool {
		sent++
		err := host.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      sent, // it has to rise; how much there is to do nobody knows
			Message:       fmt.Sprintf("%s (%s)", text, of.children[0].age()),
		})
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug("sending progress", "err", err)
		}
		return err == nil
	}
	text := "starting"
	silence := time.NewTicker(s.opts.Silence)
	defer silence.Stop()
	for {
		now := of.progress.since(heard)
		heard = now.n
		for _, text = range now.messages {
			if !send(text) {
				return
			}
			silence.Reset(s.opts.Silence)
		}
		select {
		case <-ctx.Done():
			return
		case <-now.changed:
		case <-silence.C:
			if !send(text) {
				return
			}
		}
	}
}
