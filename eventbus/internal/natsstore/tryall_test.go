package natsstore_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestTryAll: each write is stored or refused on its own, and what was stored says
// where.
func TestTryAll(t *testing.T) {
	store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: natstest.Start(t, server.Options{}).ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.EnsureStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	var first []natsstore.Write
	for i := range 300 {
		first = append(first, natsstore.Write{Subject: fmt.Sprint("s.", i), Data: []byte("first")})
	}
	for i, r := range store.TryAll(t.Context(), first) {
		if r.Err != nil || r.Seq != uint64(i+1) {
			t.Fatalf("write %d: %+v, want sequence number %d", i, r, i+1)
		}
	}
	results := store.TryAll(t.Context(), []natsstore.Write{
		{Subject: "s.0", Data: []byte("as if there was none")},
		{Subject: "s.1", Data: []byte("behind its last"), Last: 2},
		{Subject: "s.2", Data: []byte("behind another's"), Last: 2},
		{Subject: "elsewhere.1", Data: []byte("of no stream")},
		{Subject: "s.1", Data: []byte("behind the one before"), Last: 301},
	})
	for i, conflict := range []bool{true, false, true, false, false} {
		if got := natsstore.IsConflict(results[i].Err); got != conflict {
			t.Errorf("write %d: %+v, a conflict: %t", i, results[i], conflict)
		}
	}
	if results[1].Seq != 301 || results[4].Seq != 302 || results[3].Err == nil {
		t.Errorf("got %+v", results)
	}
	if rest := store.TryAll(t.Context(), nil); len(rest) != 0 {
		t.Errorf("nothing to write: %+v", rest)
	}
	conn, err := store.PublishConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.End()
	if r := store.TryAll(t.Context(), []natsstore.Write{{Subject: "s.x"}}); r[0].Err != nil {
		t.Errorf("on the next connection: %+v", r)
	}
}
