package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// report sends progress notifications for a call until stop is called, if the host
// gave a token for them: what the child does, at once, and the last message again
// after a silence. The host is not told the first heard messages.
func (c *connection) report(ctx context.Context, req *mcp.CallToolRequest, on *waited, heard int) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.reportUntil(ctx, req.Session, token, on, heard)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *connection) reportUntil(ctx context.Context, host *mcp.ServerSession, token any, on *waited, heard int) {
	told := 0.0
	tell := func(text string) bool {
		told++
		err := host.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      told, // it has to rise; how much there is to do nobody knows
			Message:       fmt.Sprintf("%s (%s)", text, on.children[0].age()),
		})
		if err != nil && ctx.Err() == nil {
			c.log.Debug("sending progress", "err", err)
		}
		return err == nil
	}
	text := "starting"
	silence := time.NewTicker(c.silence)
	defer silence.Stop()
	for {
		now := on.progress.since(heard)
		heard = now.n
		for _, text = range now.said {
			if !tell(text) {
				return
			}
			silence.Reset(c.silence)
		}
		select {
		case <-ctx.Done():
			return
		case <-now.changed:
		case <-silence.C:
			if !tell(text) {
				return
			}
		}
	}
}
