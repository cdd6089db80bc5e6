package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// waited is what a call waits for.
type waited struct {
	id       string // of the one child; empty means of several
	want     wanted // as a call asks for it
	children []*child
	progress *childProgress
	done     <-chan struct{} // closed: all of them have ended, or the one that is wanted
	moved    <-chan struct{} // closed: the one that the call has started is in the background; nil means the call has started none
	leave    func()          // ends what waitedAll has begun
}

func waitedChild(one *child) *waited {
	id := one.SessionID()
	return &waited{id: id, want: wanted{ids: []string{id}}, children: []*child{one}, progress: one.progress, done: one.Done(), leave: func() {}}
}

// waitedAll is several children, waited for as one.
func waitedAll(children []*child, want wanted) *waited {
	parts := make([]*childProgress, 0, len(children))
	for _, child := range children {
		parts = append(parts, child.progress)
	}
	joined, part := join(parts)
	done, left := make(chan struct{}), make(chan struct{})
	ended := make(chan struct{}, len(children))
	var over sync.WaitGroup
	for _, child := range children {
		over.Go(func() {
			select {
			case <-child.Done():
				ended <- struct{}{}
			case <-left:
			}
		})
	}
	over.Go(func() {
		for range children {
			select {
			case <-ended:
			case <-left:
				return
			}
			if want.any {
				break
			}
		}
		close(done)
	})
	leave := func() {
		close(left)
		over.Wait()
		part()
	}
	return &waited{want: want, children: children, progress: joined, done: done, leave: leave}
}

// stop ends the children and returns when they have.
func (on *waited) stop(reason string) {
	for _, child := range on.children {
		child.Cancel(reason)
	}
	for _, child := range on.children {
		<-child.Done()
	}
}

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
