package eventbus_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
)

// BenchmarkPublish measures durable events a child publishes through the
// envelope, against bare asynchronous JetStream publishes of the same bytes on
// the same server. The server's message path and its file store are the limit.
func BenchmarkPublish(b *testing.B) {
	ev := eventbus.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: "a few words of the answer, as a model streams them", Offset: 12345}
	path := eventbus.Path{{SessionID: "ses_0123456789abcdef"}}.Child("ses_fedcba9876543210", "explore")

	b.Run("envelope", func(b *testing.B) {
		bus := openBus(b, b.TempDir())
		p := publisher(b, bus, path)
		for b.Loop() {
			if err := p.Publish(b.Context(), ev); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		bus := openBus(b, b.TempDir())
		subject, err := bus.Subject(path)
		if err != nil {
			b.Fatal(err)
		}
		data, err := eventbus.Encode(ev)
		if err != nil {
			b.Fatal(err)
		}
		data = append(data, make([]byte, 110)...) // the envelope's length
		for b.Loop() {
			if _, err := bus.JetStream().PublishMsgAsync(&nats.Msg{Subject: subject + ".x", Data: data}); err != nil {
				b.Fatal(err)
			}
		}
		<-bus.JetStream().PublishAsyncComplete()
	})
}

// BenchmarkReplay measures reading a stored stream, one operation an event.
func BenchmarkReplay(b *testing.B) {
	const stored = 10_000
	bus := openBus(b, b.TempDir())
	root := eventbus.Path{{SessionID: "ses_0123456789abcdef"}}
	p := publisher(b, bus, root.Child("ses_fedcba9876543210", "explore"))
	for i := range stored {
		if err := p.Publish(b.Context(), delta(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for n := 0; n < b.N; {
		for _, err := range bus.Follow(b.Context(), root, eventbus.FollowOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n >= b.N {
				break
			}
		}
	}
}

// BenchmarkOpen measures the embedded server from nothing to a ready stream,
// and back.
func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		bus, err := eventbus.Open(b.Context(), "ws", &eventbus.Options{StoreDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if err := bus.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
