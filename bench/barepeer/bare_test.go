package barepeer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Each run stores the messages of the worker's run, with ids of its own.
func TestStored(t *testing.T) {
	for name, open := range map[string]scen.Peer{"bare": Open, "least": Least} {
		s := &scen.Script{Fan: 3}
		agents, err := open(s)
		if err != nil {
			t.Fatal(err)
		}
		const runs = 2
		for range runs {
			if err := scen.Once(t.Context(), agents, s, &scen.Sink{Track: true}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		b := agents.(*bare)
		stream, err := b.bus.JetStream().Stream(t.Context(), eventbus.Stream)
		if err != nil {
			t.Fatal(err)
		}
		seq := uint64(0)
		for run := range runs {
			b.recording.renumber(run + 1)
			for _, m := range b.recording.messages {
				seq++
				msg, err := stream.GetMsg(t.Context(), seq)
				if err != nil {
					t.Fatal(err)
				}
				if msg.Subject != string(m.subject) || !bytes.Equal(msg.Data, m.data) {
					t.Errorf("%s, run %d: message %d is %s %s, want %s %s", name, run+1, seq, msg.Subject, msg.Data, m.subject, m.data)
				}
			}
		}
		if b.stored != seq {
			t.Errorf("%s: %d messages are stored, want %d", name, b.stored, seq)
		}
		if err := agents.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A child goes on behind a wait, and so does its parent with the children's results.
func TestWaits(t *testing.T) {
	const children = 3
	r, err := record(t.Context(), &scen.Script{Fan: children})
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	until := make(map[string]int) // how many waits there are at least before a child's next message
	ended := 0
	for _, m := range r.messages {
		child, ev, err := m.of()
		if err != nil {
			t.Fatal(err)
		}
		if waits < until[child] {
			t.Errorf("%s comes behind %d waits, want %d", m.subject, waits, until[child])
		}
		switch ev.(type) {
		case event.ToolCallStart:
			if child != "" {
				until[child] = waits + 1
			}
		case event.ToolCallEnd:
			if child == "" && ended != children {
				t.Errorf("the parent has a result when %d of %d children have ended", ended, children)
			}
		case event.SessionEnd:
			if child != "" {
				ended++
				until[child], until[""] = waits+1, waits+1
			}
		}
		if m.wait {
			waits++
		}
	}
	if last := r.messages[len(r.messages)-1]; !last.wait || waits != childWaits+1 {
		t.Errorf("%d waits, and one for the last message: %t; want %d", waits, last.wait, childWaits+1)
	}
}

// A run that stores less than it should is no figure.
func TestLost(t *testing.T) {
	agents, err := Least(&scen.Script{Fan: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, sent := agents.(*bare), 0
	whole := b.send
	b.send = func(ctx context.Context, b *bare, msg *nats.Msg, wait bool) (uint64, error) {
		if sent++; sent == 2 {
			return 0, nil
		}
		return whole(ctx, b, msg, wait)
	}
	_, err = agents.Run(t.Context(), &scen.Sink{})
	if want := fmt.Sprintf("%d of %d messages are stored", len(b.recording.messages)-1, len(b.recording.messages)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a run with a message that is not sent: %v, want %q", err, want)
	}
	if err := agents.Close(); err != nil {
		t.Error(err)
	}
}
