package eventbus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestLost: if the server closes the connection for good, the bus reports it with
// the reason, and every later operation fails with it at once.
func TestLost(t *testing.T) {
	for name, at := range map[string]eventbus.Options{
		"embedded": {StoreDir: t.TempDir()},
		"external": {URL: natstest.Start(t, server.Options{}).ClientURL()},
	} {
		t.Run(name, func(t *testing.T) {
			lost := make(chan error, 1)
			at.Lost = func(err error) { lost <- err }
			bus, err := eventbus.Open(t.Context(), "ws", &at)
			if err != nil {
				t.Fatal(err)
			}
			defer bus.Close()
			// The bus refuses to send this itself, but it gives out its connection.
			if err := bus.Conn().Publish(strings.Repeat("x", 5000), nil); err != nil {
				t.Fatal(err)
			}
			if err := <-lost; !errors.Is(err, eventbus.ErrLost) || !strings.Contains(err.Error(), "maximum control line") {
				t.Errorf("lost: %v", err)
			}
			if _, err := bus.JetStream().KeyValue(t.Context(), "any"); !errors.Is(err, eventbus.ErrLost) {
				t.Errorf("an operation after it: %v, want %v", err, eventbus.ErrLost)
			}
		})
	}
}

// TestLongSubjects: no name that others choose makes the server close the
// connection for a line that is too long.
func TestLongSubjects(t *testing.T) {
	bus := openBus(t, t.TempDir())
	kv, err := bus.Store().EnsureBucket(t.Context(), jetstream.KeyValueConfig{Bucket: "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{65, 1025, 3900, 4096, 5000, 100_000} {
		long := strings.Repeat("x", n)
		path := event.Path{{SessionID: long}}
		if _, err := bus.Publisher(path); err == nil {
			t.Errorf("a session id of %d bytes is accepted", n)
		}
		for _, err := range bus.Follow(t.Context(), path, nil) {
			if err == nil {
				t.Errorf("a session id of %d bytes can be followed", n)
			}
		}
		if n <= event.MaxID+1 {
			continue
		}
		if _, err := kv.Get(t.Context(), long); err == nil {
			t.Errorf("Get accepts a key of %d bytes", n)
		}
		if _, err := kv.Create(t.Context(), long, nil); err == nil {
			t.Errorf("Create accepts a key of %d bytes", n)
		}
		if _, err := kv.Watch(t.Context(), long); err == nil {
			t.Errorf("Watch accepts a key of %d bytes", n)
		}
		if _, err := bus.JetStream().Publish(t.Context(), long, nil); err == nil {
			t.Errorf("Publish accepts a subject of %d bytes", n)
		}
	}
	if err := bus.Conn().Flush(); err != nil {
		t.Errorf("the connection was lost: %v", err)
	}
}

// TestPurgeByIndex: deleting the payloads of a session does not list those of all
// sessions.
func TestPurgeByIndex(t *testing.T) {
	bus := openBus(t, t.TempDir())
	put := func(session, content string) *event.PayloadRef {
		ref, err := bus.PutPayload(t.Context(), session, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	gone := []*event.PayloadRef{put("ses_a", "one"), put("ses_a", "two"), put("ses_a", "two")}
	kept := []*event.PayloadRef{put("ses_ab", "one"), put("ses_b", "one")}
	listed, err := bus.Conn().SubscribeSync("$JS.EVENT.ADVISORY.CONSUMER.CREATED." + eventbus.PayloadStream + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	if err := bus.Purge(t.Context(), event.Path{{SessionID: "ses_a"}}); err != nil {
		t.Fatal(err)
	}
	fence := jetstream.ConsumerConfig{Name: "fence"}
	if _, err := bus.JetStream().CreateConsumer(t.Context(), eventbus.PayloadStream, fence); err != nil {
		t.Fatal(err)
	}
	if msg, err := listed.NextMsgWithContext(t.Context()); err != nil || !strings.HasSuffix(msg.Subject, ".fence") {
		t.Errorf("the object store was listed: %v, %v", msg, err)
	}
	for _, ref := range gone {
		if _, err := bus.Payload(t.Context(), ref); !errors.Is(err, eventbus.ErrNoPayload) {
			t.Errorf("%s was not deleted: %v", ref.Name, err)
		}
	}
	for _, ref := range kept {
		if data, err := bus.Payload(t.Context(), ref); err != nil || string(data) != "one" {
			t.Errorf("%s: %q, %v", ref.Name, data, err)
		}
	}
}
