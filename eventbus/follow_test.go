package eventbus_test

import (
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// TestSlowReader: a reader that takes nothing delays neither the publisher nor
// another reader, and misses nothing when it continues.
func TestSlowReader(t *testing.T) {
	const n = 5_000 // far more than what is on its way to a reader
	bus := openBus(t, t.TempDir())
	path := event.Path{{SessionID: "ses_slow"}}
	first, resume, done := make(chan struct{}), make(chan struct{}), make(chan []uint64)
	p := publisher(t, bus, path)
	if err := p.Publish(t.Context(), delta(0)); err != nil {
		t.Fatal(err)
	}
	go func() {
		var got []uint64
		for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Error(err)
				break
			}
			if got = append(got, d.Seq); len(got) == 1 {
				close(first)
				<-resume
			}
			if d.Ends() {
				break
			}
		}
		done <- got
	}()
	<-first
	for i := range n {
		if err := p.Publish(t.Context(), delta(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(t.Context(), event.SessionEnd{Status: "completed"}); err != nil {
		t.Fatal(err)
	}
	fast := 0
	for d, err := range bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if fast++; d.Ends() {
			break
		}
	}
	if fast != n+2 {
		t.Errorf("the other reader got %d events, want %d", fast, n+2)
	}
	close(resume)
	got := <-done
	if len(got) != n+2 {
		t.Fatalf("the slow reader got %d events, want %d", len(got), n+2)
	}
	for i, seq := range got[1:] {
		if seq != got[i]+1 {
			t.Fatalf("after event %d came %d", got[i], seq)
		}
	}
}

// TestDeletedWhileRead: a reader of stored events comes to the end even if the rest
// is deleted in the meantime.
func TestDeletedWhileRead(t *testing.T) {
	bus := openBus(t, t.TempDir())
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, path)
	for i := range 3000 {
		if err := p.Publish(t.Context(), delta(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, err := range bus.Follow(t.Context(), path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen > 1 {
			continue
		}
		if err := bus.Purge(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if seen == 3000 {
		t.Error("all events were read before they were deleted: the test shows nothing")
	}
}
