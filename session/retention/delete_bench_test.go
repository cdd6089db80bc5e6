package retention_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// BenchmarkDelete deletes sessions with three below each, of 1,000 that all have ended. A
// worker that keeps sessions for a short time can begin no more a second than it can
// delete.
func BenchmarkDelete(b *testing.B) {
	bus := bustest.Open(b, &eventbus.Options{StoreDir: b.TempDir()})
	js := bus.JetStream()
	sessions, err := store.Open(b.Context(), bus)
	if err != nil {
		b.Fatal(err)
	}
	put := func(key string, data []byte) {
		if _, err := js.PublishMsgAsync(&nats.Msg{Subject: "$KV.AGENT_SESSIONS.ws." + key, Data: data}); err != nil {
			b.Fatal(err)
		}
	}
	const roots = 1_000
	add := func(path event.Path) {
		id, mark := path[len(path)-1].SessionID, "opened"
		for _, hop := range path.IDs() {
			mark += "." + hop
		}
		now := time.Now().UTC()
		data, err := json.Marshal(record.Record{
			Schema: record.Schema, ID: id, Path: path, Depth: len(path) - 1, Status: record.Completed,
			CreatedAt: now, StartedAt: now, EndedAt: now, BootID: "boot_bootbootbootboo", Closed: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		put(mark, nil)
		put(id, data)
		p, err := bus.Publisher(path)
		if err != nil {
			b.Fatal(err)
		}
		for i := range 20 {
			if err := p.Publish(b.Context(), event.ContentDelta{MessageID: "m", Delta: "some words of an answer", Offset: 2 * i}); err != nil {
				b.Fatal(err)
			}
		}
		if err := p.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	fill := func() {
		for i := range roots {
			root := event.Path{{SessionID: fmt.Sprintf("ses_%016d", i)}}
			for child := range 3 {
				add(root.Child(fmt.Sprintf("ses_%015d%c", i, 'a'+child), "explore"))
			}
			add(root)
		}
		<-js.PublishAsyncComplete()
	}
	for next := roots; b.Loop(); next++ {
		if next == roots {
			b.StopTimer()
			fill()
			b.StartTimer()
			next = 0
		}
		if n, err := sessions.Retention.Delete(b.Context(), fmt.Sprintf("ses_%016d", next)); n != 4 || err != nil {
			b.Fatal(n, err)
		}
	}
}
