package barepeer

import (
	"bytes"
	"context"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/bench/scen"
)

// follower hands the events below a root's subject to a sink.
type follower struct {
	sub    *nats.Subscription
	prefix string // of the subjects of all events
	sink   *scen.Sink
	ended  chan struct{} // closed with the root's last event; what is below may be read then
	events int
	final  strings.Builder // the root's text
}

// follow follows a root of which nothing is published yet.
func follow(conn *nats.Conn, root string, k *scen.Sink) (*follower, error) {
	f := &follower{prefix: root + ".", sink: k, ended: make(chan struct{})}
	var err error
	f.sub, err = conn.Subscribe(root+".>", f.take)
	return f, err
}

// wait returns when the root's last event was read.
func (f *follower) wait(ctx context.Context) error {
	select {
	case <-f.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *follower) stop() error { return f.sub.Unsubscribe() }

var (
	delta      = []byte(`"type":"content_delta"`) // is in the events that hold text
	sessionEnd = []byte(`{"type":"session_end"`)  // begins the root's end
)

// take reads an event. Unlike that of the worker this follower decodes no JSON.
func (f *follower) take(msg *nats.Msg) {
	f.events++
	child, _, ofChild := strings.Cut(msg.Subject[len(f.prefix):], ".")
	hasText := bytes.Contains(msg.Data, delta)
	switch {
	case ofChild && hasText:
		f.sink.Delta(child, text(msg.Data))
	case ofChild:
		f.sink.ChildEvent()
	default:
		f.sink.ParentEvent()
	}
	switch {
	case ofChild:
	case hasText:
		f.final.WriteString(text(msg.Data))
	case bytes.HasPrefix(msg.Data, sessionEnd):
		close(f.ended)
	}
}

// text returns the text of a content_delta. That of this work has no escapes.
func text(event []byte) string {
	_, rest, _ := bytes.Cut(event, []byte(`"delta":"`))
	before, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(before)
}
