package eventbus_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// BenchmarkDurableFloor stores two sessions of 24 deltas and an end each, and waits once for
// each session. It does so by publishers, by bare asynchronous JetStream with and without
// message ids, and by plain publishes of which the last is acknowledged, which is the least
// that this can cost on the server. An operation is both sessions.
func BenchmarkDurableFloor(b *testing.B) {
	const deltas = 24
	run := func(b *testing.B, store func(bus *eventbus.Bus, path event.Path)) {
		bus := openBus(b, b.TempDir())
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			root := event.Path{{SessionID: fmt.Sprint("ses_root", i), AgentType: "parent"}}
			store(bus, root)
			store(bus, root.Child(fmt.Sprint("ses_child", i), "child"))
		}
	}
	delta := func(i int) event.ContentDelta {
		return event.ContentDelta{MessageID: "msg_0123456789abcdef", Delta: "w0000 ", Offset: 6 * i}
	}
	for name, gap := range map[string]int{"publisher": 0, "publisher-unjoined": 1} {
		b.Run(name, func(b *testing.B) {
			run(b, func(bus *eventbus.Bus, path event.Path) {
				p := publisher(b, bus, path)
				for i := range deltas {
					d := delta(i)
					d.Offset += gap * i // it does not continue the one before
					if err := p.Publish(b.Context(), d); err != nil {
						b.Fatal(err)
					}
				}
				if err := p.End(b.Context(), event.SessionEnd{Status: "completed"}); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	bare := func(store func(js jetstream.JetStream, subject string, data []byte) error) func(*eventbus.Bus, event.Path) {
		var js jetstream.JetStream
		return func(bus *eventbus.Bus, path event.Path) {
			var err1 error
			if js == nil || js.Conn() != bus.Conn() {
				js, err1 = jetstream.New(bus.Conn())
			}
			subject, err2 := bus.Subject(path)
			data, err3 := event.Encode(delta(0))
			before, after := path.Envelope()
			data = append(append(before, data...), after...)
			if err := errors.Join(err1, err2, err3, store(js, subject, data)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, ids := range []bool{true, false} {
		b.Run(fmt.Sprint("async/ids=", ids), func(b *testing.B) {
			run(b, bare(func(js jetstream.JetStream, subject string, data []byte) error {
				var last jetstream.PubAckFuture
				for i := range deltas + 1 {
					msg := &nats.Msg{Subject: subject + ".turn", Data: data}
					if ids {
						msg.Header = nats.Header{jetstream.MsgIDHeader: {fmt.Sprint(subject, i)}}
					}
					var err error
					if last, err = js.PublishMsgAsync(msg); err != nil {
						return err
					}
				}
				<-last.Ok()
				return nil
			}))
		})
	}
	b.Run("acked-last", func(b *testing.B) {
		run(b, bare(func(js jetstream.JetStream, subject string, data []byte) error {
			for range deltas {
				if err := js.Conn().Publish(subject+".turn", data); err != nil {
					return err
				}
			}
			_, err := js.Publish(b.Context(), subject+".turn", data)
			return err
		}))
	})
}
