package stream_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/agentworker/worker/bench/stream"
	"github.com/agentworker/worker/eventbus/event"
)

var ways = map[string]stream.Open{"worker": stream.Worker, "bare": stream.Bare, "least": stream.Least}

// Each way stores what is published, once and in order, and has it followed.
func TestWays(t *testing.T) {
	for name, open := range ways {
		t.Run(name, func(t *testing.T) {
			measure := map[string]func() (stream.Figures, error){
				"publish":   func() (stream.Figures, error) { return stream.Publish(open, 500, false) },
				"text":      func() (stream.Figures, error) { return stream.Publish(open, 500, true) },
				"replay":    func() (stream.Figures, error) { return stream.Replay(open, 500) },
				"first":     func() (stream.Figures, error) { return stream.First(open, 5) },
				"followers": func() (stream.Figures, error) { return stream.Followers(open, 20) },
			}
			if name != "least" { // its events wait for the last
				measure["latency"] = func() (stream.Figures, error) { return stream.Latency(open, 50) }
			}
			for what, f := range measure {
				figures, err := f()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
				for key, v := range figures {
					if v <= 0 && key != "kib" { // of few followers
						t.Errorf("%s: %s is %v", what, key, v)
					}
				}
			}
		})
	}
}

// The streams of the ways hold the same bytes.
func TestSameBytes(t *testing.T) {
	events := []event.Event{
		event.ToolCallEnd{ToolCallID: "a", ToolName: "echo", Result: "hello"},
		event.ContentDelta{MessageID: "m", Delta: "word"},
	}
	var want []string
	for _, name := range []string{"worker", "bare", "least"} {
		w, err := ways[name]()
		if err != nil {
			t.Fatal(err)
		}
		got := stored(t, w, events)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if want == nil {
			want = got
		}
		if len(got) != len(events) || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s has stored\n%q, want\n%q", name, got, want)
		}
	}
}

func stored(t *testing.T, w stream.Way, events []event.Event) (all []string) {
	t.Helper()
	if err := w.Prepare(events); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Publish(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for data, err := range w.Follow(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

// A way that does less than it should gives no figure.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name string
		lie  func(events []event.Event) []event.Event
		want string
	}{
		{"loses", func(events []event.Event) []event.Event { return append(events[:3:3], events[4:]...) }, "offset"},
		{"loses the last", func(events []event.Event) []event.Event { return events[:len(events)-1] }, "events with"},
		{"doubles", func(events []event.Event) []event.Event { return append(events[:3:3], events[2:]...) }, "offset"},
		{"mixes up", func(events []event.Event) []event.Event {
			return append([]event.Event{events[1], events[0]}, events[2:]...)
		}, "offset"},
	} {
		open := func() (stream.Way, error) {
			w, err := stream.Bare()
			return &liar{Way: w, lie: test.lie}, err
		}
		if _, err := stream.Publish(open, 10, true); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("a way that %s: %v, want %q", test.name, err, test.want)
		}
	}
	open := func() (stream.Way, error) {
		w, err := stream.Bare()
		return &liar{Way: w, skip: 2}, err
	}
	if _, err := stream.Replay(open, 10); err == nil || !strings.Contains(err.Error(), "9 of 11") {
		t.Errorf("a way that reads a part: %v", err)
	}
}

// liar is a way that publishes other events than it should, or skips some that it
// reads.
type liar struct {
	stream.Way
	lie  func([]event.Event) []event.Event
	sent int
	skip int
}

func (l *liar) Prepare(events []event.Event) error {
	if l.lie != nil {
		events = l.lie(events)
		l.sent = len(events)
	}
	return l.Way.Prepare(events)
}

func (l *liar) Publish(ctx context.Context, i int) error {
	if l.lie != nil && i >= l.sent {
		return nil
	}
	return l.Way.Publish(ctx, i)
}

func (l *liar) Follow(ctx context.Context, live bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		n := 0
		for data, err := range l.Way.Follow(ctx, live) {
			if n++; n <= l.skip && err == nil {
				continue
			}
			if !yield(data, err) {
				return
			}
		}
	}
}
