// Package stream measures what the events of sessions cost: with this project, and
// with JetStream alone. Both use the same server, in the process, with the same
// stream on disk, and events of the same bytes.
package stream

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/bench/workerpeer"
	"github.com/agentworker/worker/eventbus/event"
)

// A Way publishes events and has them followed.
type Way interface {
	// Prepare takes the events of the child before the clock runs. Publish sends
	// one; Wait waits until all that were sent are stored.
	Prepare(events []event.Event) error
	Publish(ctx context.Context, i int) error
	Wait(ctx context.Context) error

	// Follow yields the parent's stream, in which the child's events are: what is
	// stored, and live what comes.
	Follow(ctx context.Context, live bool) iter.Seq2[[]byte, error]

	// MaxFollowers is how many can follow at once; 0 means no limit is known.
	MaxFollowers() int

	// Begin begins a session of its own; its first event is on its way.
	Begin(ctx context.Context) (Session, error)

	Close() error
}

// A Session has a first event and a last one.
type Session interface {
	// Follow yields the stream from the first event to the last.
	Follow(ctx context.Context) iter.Seq2[[]byte, error]
	End(ctx context.Context) error
}

// Open opens a way; all have a new store.
type Open func() (Way, error)

// The events of the measurements: one that a store takes as it is, and a piece of
// text as models stream them. An event around the first has about 300 bytes.
var (
	plain = event.ToolCallEnd{ToolCallID: "call_0123456789", ToolName: "grep", Result: "eventbus/publisher.go:42: a line of what a tool has found", DurationMs: 3}
	word  = event.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: " word"}
)

// The parent and the child whose events are measured.
var (
	parentPath = event.Path{{SessionID: "ses_0123456789abcdef"}}
	childPath  = parentPath.Child("ses_fedcba9876543210", scen.ChildName)
)

func start() (*workerpeer.Worker, error) { return workerpeer.Start(&scen.Script{Fan: 1}) }

// read returns how many events of the child a stream has, and their text.
func read(ctx context.Context, w Way) (events int, text string, err error) {
	var all strings.Builder
	for data, err := range w.Follow(ctx, false) {
		if err != nil {
			return 0, "", err
		}
		_, ev, err := event.Unwrap(data)
		if err != nil {
			return 0, "", err
		}
		switch ev := ev.(type) {
		case event.ContentDelta:
			if ev.Offset != all.Len() {
				return 0, "", fmt.Errorf("a piece of text has the offset %d behind %d bytes", ev.Offset, all.Len())
			}
			all.WriteString(ev.Delta)
			events++
		case event.ToolCallEnd:
			events++
		}
	}
	return events, all.String(), nil
}
