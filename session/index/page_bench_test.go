package index_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// BenchmarkList does what a command does to list 20,000 ended sessions: under 300 ms.
func BenchmarkList(b *testing.B) {
	bus, err := eventbus.Open(b.Context(), "ws", &eventbus.Options{StoreDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = bus.Close() })
	sessions, err := store.Open(b.Context(), bus)
	if err != nil {
		b.Fatal(err)
	}
	js, err := jetstream.New(bus.Conn())
	if err != nil {
		b.Fatal(err)
	}
	const count = 20_000
	for i := range count {
		id := fmt.Sprintf("ses_%016d", i)
		now := time.Now().UTC()
		data, err := json.Marshal(record.Record{
			Schema: record.Schema, ID: id, ParentID: "ses_parentparentpare", ParentMessageID: "msg_parentparentpare",
			Path:  event.Path(nil).Child("ses_parentparentpare", "").Child(id, "explore"),
			Agent: "explore", Description: "Where is the retry delay set, and by whom?", Model: "anthropic/claude-sonnet-5-5",
			Status: record.Completed, Depth: 1, Steps: 7, Usage: model.Usage{InputTokens: 12345, OutputTokens: 678},
			CreatedAt: now, StartedAt: now, EndedAt: now, BootID: "boot_bootbootbootboo", Closed: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := js.PublishMsgAsync(&nats.Msg{Subject: "$KV.AGENT_SESSIONS.ws." + id, Data: data}); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	b.ReportAllocs()
	for b.Loop() {
		if n, err := sessions.Recovery.Recover(b.Context()); n != 0 || err != nil { // as each command does first
			b.Fatal(n, err)
		}
		records, err := sessions.Index.List(b.Context())
		if err != nil || len(records) != count {
			b.Fatalf("%d records, %v", len(records), err)
		}
	}
}
