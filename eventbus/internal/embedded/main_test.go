package embedded_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/agentworker/worker/eventbus/internal/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is a process of a store: its part in the election, and its connection.
type member struct {
	*embedded.Election
	js    jetstream.JetStream
	close func() error // the first time
}

// join opens the store in dir as a process does.
func join(t *testing.T, dir string, log *slog.Logger) (*member, error) {
	t.Helper()
	e, err := embedded.Open(dir, embedded.Sync{}, false, log)
	if err != nil {
		return nil, err
	}
	lost := make(chan struct{}, 1)
	opts := append(e.Options(), nats.MaxReconnects(-1), nats.DisconnectErrHandler(func(*nats.Conn, error) {
		select {
		case lost <- struct{}{}:
		default:
		}
	}))
	var conn *nats.Conn
	if err := e.Join(t.Context(), func() (err error) { conn, err = nats.Connect("", opts...); return err }); err != nil {
		if conn != nil {
			conn.Close()
		}
		if err := e.Resign(); err != nil {
			t.Error(err)
		}
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := e.Run(ctx, lost, conn.IsConnected); err != nil {
			t.Error(err)
		}
	})
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{e, js, sync.OnceValue(func() error {
		cancel()
		running.Wait()
		conn.Close()
		return e.Resign()
	})}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m, nil
}

// open is join where nothing goes wrong.
func open(t *testing.T, dir string) *member {
	t.Helper()
	m, err := join(t, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
