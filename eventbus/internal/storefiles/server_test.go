package storefiles

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// testServer is a server as its Monitor asks it.
type testServer struct {
	*server.Server
	dir       string
	conn      *nats.Conn
	js        jetstream.JetStream
	questions atomic.Int64
	stop      func()
	damaged   chan error // what the Monitor says
}

func startServer(t testing.TB, flush time.Duration) *testServer {
	t.Helper()
	s := &testServer{dir: t.TempDir(), damaged: make(chan error, 1)}
	var err error
	s.Server, err = server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: s.dir, NoSigs: true, NoLog: true, SyncInterval: flush})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	s.stop = sync.OnceFunc(func() {
		if s.conn != nil {
			s.conn.Close()
		}
		s.Shutdown()
		s.WaitForShutdown()
	})
	t.Cleanup(s.stop)
	if s.conn, err = nats.Connect("", nats.InProcessServer(s.Server)); err != nil {
		t.Fatal(err)
	}
	if s.js, err = jetstream.New(s.conn); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *testServer) Streams() (map[string]Range, error) {
	state, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return nil, err
	}
	streams := make(map[string]Range)
	for _, account := range state.AccountDetails {
		for _, s := range account.Streams {
			streams[s.Name] = Range{s.State.FirstSeq, s.State.LastSeq}
		}
	}
	return streams, nil
}

func (s *testServer) Messages(stream string) (*Messages, error) {
	s.questions.Add(1)
	answer, err := s.conn.Request("$JS.API.STREAM.INFO."+stream, []byte(`{"deleted_details":true}`), 10*time.Second)
	if err != nil {
		return nil, err
	}
	var info server.JSApiStreamInfoResponse
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		return nil, err
	}
	if info.StreamInfo == nil {
		return nil, info.ToError()
	}
	has := &Messages{Range: Range{info.State.FirstSeq, info.State.LastSeq}, Count: info.State.Msgs, Deleted: info.State.Deleted}
	if info.State.Lost != nil {
		has.Lost = info.State.Lost.Msgs
	}
	return has, nil
}

// monitor returns a Monitor that looks when the test asks it to.
func (s *testServer) monitor(t testing.TB) *Monitor {
	t.Helper()
	k, err := newMonitor(s.dir, s, func(err error) { s.damaged <- err }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k.cancel = func() {}
	close(k.done)
	return k
}

// damage returns what its Monitor has reported.
func (s *testServer) damage() error {
	select {
	case err := <-s.damaged:
		return err
	default:
		return nil
	}
}

// close closes the store, and returns what is found to be missing then.
func (s *testServer) close(t testing.TB, k *Monitor) []Loss {
	t.Helper()
	ranges, err := s.Streams()
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	if err := errors.Join(k.Close(ranges), Check(s.dir, false, slog.New(slog.DiscardHandler))); err != nil {
		t.Error(err)
	}
	losses, err := Losses(s.dir)
	if err != nil {
		t.Error(err)
	}
	return losses
}

// TestEmptiedByServer: a server deletes messages, and with them a complete block, and is killed
// before its files are written down again. That is no loss.
func TestEmptiedByServer(t *testing.T) {
	killed := t.TempDir()
	srv := startServer(t, time.Hour)
	dir, js := srv.dir, srv.js
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
	monitor, err := StartMonitor(dir, asked(func() map[string]Range {
		first()
		return map[string]Range{"KV_B": {2, 2}}
	}), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	<-looked
	if err := monitor.Close(nil); err != nil { // as one of a killed process: nothing more is written down
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
