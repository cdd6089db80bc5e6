package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// A child publishes an event; a reader of the parent's stream sees it in its
// envelope.
func ExampleBus_Follow() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "eventbus")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	bus, err := eventbus.Open(ctx, "shop", &eventbus.Options{StoreDir: dir})
	if err != nil {
		panic(err)
	}
	defer bus.Close()

	parent := event.Path{{SessionID: "ses_parent"}}
	child := parent.Child("ses_child", "explore")
	p, err := bus.Publisher(child)
	if err != nil {
		panic(err)
	}
	if err := errors.Join(p.Publish(ctx, event.SessionEnd{Status: "completed"}), p.Flush(ctx)); err != nil {
		panic(err)
	}
	for _, path := range []event.Path{parent, child} {
		for d, err := range bus.Follow(ctx, path, nil) {
			if err != nil {
				panic(err)
			}
			fmt.Println(string(d.Raw))
		}
	}
	// Output:
	// {"type":"subagent_event","agentType":"explore","sessionId":"ses_child","event":{"type":"session_end","status":"completed"}}
	// {"type":"session_end","status":"completed"}
}
