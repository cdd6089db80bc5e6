package natsstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestStreamCheck: an existing stream is used without a change, unless it would lose events.
func TestStreamCheck(t *testing.T) {
	want := jetstream.StreamConfig{
		Name: "AGENT_EVENTS", Subjects: []string{"agents.v1.*.events.>"}, AllowDirect: true, Duplicates: natsstore.DuplicateWindow, AllowBatchPublish: true,
	}
	good := want
	good.Duplicates, good.MaxAge = 2*time.Minute, 30*24*time.Hour
	for _, tt := range []struct {
		name  string
		set   func(*jetstream.StreamConfig)
		fatal string
		warns string
	}{
		{"as it should be", func(*jetstream.StreamConfig) {}, "", ""},
		{"kept for ever, of all subjects", func(c *jetstream.StreamConfig) { c.MaxAge, c.Subjects = 0, []string{"agents.>"} }, "", ""},
		{"other subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"agents.v1.ws.events.>"} }, "which do not include agents.v1.*.events.>", ""},
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "kept in memory", ""},
		{"a work queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "deletes messages that were read", ""},
		{"no acknowledgements", func(c *jetstream.StreamConfig) { c.NoAck = true }, "acknowledges nothing", ""},
		{"tiny", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "drops the oldest above 1048576 bytes", ""},
		{"few", func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, "drops the oldest above 1000 messages", ""},
		{"one of a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "last 1 messages of a subject", ""},
		{"minutes", func(c *jetstream.StreamConfig) { c.MaxAge = 10 * time.Minute }, "older than 10m", ""},
		{"short messages", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1024 }, "accepts no message above 1024 bytes", ""},
		{"hours", func(c *jetstream.StreamConfig) { c.MaxAge = 12 * time.Hour }, "", "a session may run for 24h"},
		{"shortish messages", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 256 << 10 }, "", "ends its session"},
		{"short memory of ids", func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "", "stored twice"},
		{"no direct reads", func(c *jetstream.StreamConfig) { c.AllowDirect = false }, "", "nats stream edit AGENT_EVENTS --allow-direct"},
		{"no batches", func(c *jetstream.StreamConfig) { c.AllowBatchPublish = false }, "", "nats stream edit AGENT_EVENTS --allow-fast"},
		{"full is full", func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1<<30, jetstream.DiscardNew }, "", "when it is full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := natstest.Start(t, server.Options{}).ClientURL()
			cfg := good
			cfg.Subjects = slices.Clone(good.Subjects)
			tt.set(&cfg)
			makeStream(t, url, cfg)
			store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			_, err = store.EnsureStream(t.Context(), want)
			var refused *natsstore.StreamError
			switch {
			case tt.fatal != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.fatal)):
				t.Errorf("%v, want %q", err, tt.fatal)
			case tt.fatal == "" && err != nil:
				t.Error(err)
			}
			if err != nil {
				return
			}
			var warned []string
			for _, f := range store.Health().Findings {
				warned = append(warned, f.String())
			}
			if text := strings.Join(warned, "\n"); (text == "") != (tt.warns == "") || !strings.Contains(text, tt.warns) {
				t.Errorf("findings %q, want %q", text, tt.warns)
			}
		})
	}
}

func makeStream(t *testing.T, url string, cfg jetstream.StreamConfig) {
	t.Helper()
	js := natstest.JetStream(t, url)
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestBucketCheck: the same holds for buckets.
func TestBucketCheck(t *testing.T) {
	url := natstest.Start(t, server.Options{}).ClientURL()
	store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, tt := range []struct {
		name      string
		has, want jetstream.KeyValueConfig
		fatal     string
		warns     string
	}{
		{"same", jetstream.KeyValueConfig{Bucket: "a"}, jetstream.KeyValueConfig{Bucket: "a"}, "", ""},
		{"more history", jetstream.KeyValueConfig{Bucket: "b", History: 5}, jetstream.KeyValueConfig{Bucket: "b"}, "", ""},
		{"less history", jetstream.KeyValueConfig{Bucket: "c"}, jetstream.KeyValueConfig{Bucket: "c", History: 5}, "last 1 messages", ""},
		{"memory", jetstream.KeyValueConfig{Bucket: "d", Storage: jetstream.MemoryStorage}, jetstream.KeyValueConfig{Bucket: "d"}, "kept in memory", ""},
		{"forgets", jetstream.KeyValueConfig{Bucket: "e", TTL: time.Minute}, jetstream.KeyValueConfig{Bucket: "e"}, "older than 1m", ""},
		{"leases end early", jetstream.KeyValueConfig{Bucket: "f", TTL: 5 * time.Second}, jetstream.KeyValueConfig{Bucket: "f", TTL: 10 * time.Second}, "older than 5s", ""},
		{"leases never end", jetstream.KeyValueConfig{Bucket: "g"}, jetstream.KeyValueConfig{Bucket: "g", TTL: 10 * time.Second}, "", "late or never"},
	} {
		if _, err := store.JetStream().CreateKeyValue(t.Context(), tt.has); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		before := len(store.Health().Findings)
		_, err := store.EnsureBucket(t.Context(), tt.want)
		if (err == nil) != (tt.fatal == "") || err != nil && !strings.Contains(err.Error(), tt.fatal) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fatal)
		}
		found := store.Health().Findings[before:]
		if (len(found) == 0) != (tt.warns == "") || len(found) > 0 && !strings.Contains(found[0].String(), tt.warns) {
			t.Errorf("%s: findings %v, want %q", tt.name, found, tt.warns)
		}
	}
}
