package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// report sends progress notifications for a call until the function it returns
// is called, if the host gave a token for them: what the child does as it does
// it, and the last of that again when nothing has happened for a while.
func (c *connection) report(ctx context.Context, req *mcp.CallToolRequest, call *call) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.reportUntil(ctx, req.Session, token, call.messages)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (c *connection) reportUntil(ctx context.Context, host *mcp.ServerSession, token any, messages <-chan string) {
	start := time.Now()
	text := "starting"
	silence := time.NewTicker(c.silence)
	defer silence.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case text = <-messages:
		case <-silence.C:
		}
		err := host.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      float64(n), // it has to rise; how much there is to do nobody knows
			Message:       fmt.Sprintf("%s (%s)", text, time.Since(start).Round(time.Second)),
		})
		if err != nil {
			if ctx.Err() == nil {
				c.log.Debug("sending progress", "err", err)
			}
			return
		}
		silence.Reset(c.silence)
	}
}
