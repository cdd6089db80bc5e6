package storefiles

import (
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestEmptiedByServer: a server deletes messages, and with them a whole block, and is killed
// before its files are written down again. That is no loss.
func TestEmptiedByServer(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	srv, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	conn, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	leases, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KV_B")
	if err != nil {
		t.Fatal(err)
	}
	put := func() {
		if _, err := leases.PutString(t.Context(), "k", "x"); err != nil {
			t.Fatal(err)
		}
	}
	put()
	put()
	looked := make(chan struct{})
	first := sync.OnceFunc(func() { close(looked) })
	keeper, err := Keep(dir, func() (map[string]Range, error) {
		first()
		return map[string]Range{"KV_B": {2, 2}}, nil
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	<-looked
	if err := keeper.Close(nil); err != nil { // as one of a killed process: nothing more is written down
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.B.k")); err != nil {
		t.Fatal(err)
	}
	put()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(os.DirFS(killed), "KV_B")
	if _, there := blocks["1.blk"]; there || err != nil {
		t.Fatalf("the server has the blocks %v, %v; want a new one", blocks, err)
	}
	if err := Check(killed, false, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if losses, err := Losses(killed); err != nil || len(losses) > 0 {
		t.Errorf("%v, %v", losses, err)
	}
}
