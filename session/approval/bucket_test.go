package approval_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/record"
)

// TestGet: a whole id gets its approval alone, even if another one begins with it or can't
// be read. The beginning of an id gets the only one that begins with it.
func TestGet(t *testing.T) {
	bus := bustest.Open(t, &eventbus.Options{StoreDir: t.TempDir()})
	records, err := index.Open(t.Context(), bus)
	if err != nil {
		t.Fatal(err)
	}
	approvals, err := approval.Open(t.Context(), bus, records)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"apr_a", "apr_ab", "apr_c1"} {
		if err := approvals.Open(t.Context(), &approval.Approval{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"apr_a": "apr_a", "apr_ab": "apr_ab", "apr_c": "apr_c1"} {
		if a, err := approvals.Get(t.Context(), id); err != nil || a.ID != want {
			t.Errorf("Get(%s): %+v, %v; want %s", id, a, err, want)
		}
	}
	for id, want := range map[string]error{"apr_d": record.ErrNotFound, "apr_": record.ErrAmbiguous, "a b": record.ErrNotFound} {
		if a, err := approvals.Get(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("Get(%q): %+v, %v; want %v", id, a, err, want)
		}
	}
	kv, err := bus.JetStream().KeyValue(t.Context(), approval.BucketName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), records.Key("apr_x"), "damaged"); err != nil {
		t.Fatal(err)
	}
	if a, err := approvals.Get(t.Context(), "apr_a"); err != nil || a.ID != "apr_a" {
		t.Errorf("Get(apr_a) beside a damaged one: %+v, %v", a, err)
	}
	if _, err := approvals.Get(t.Context(), "apr_x"); err == nil || errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("Get of a damaged one: %v", err)
	}
}
