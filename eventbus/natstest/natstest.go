// Package natstest starts NATS servers for tests that use an external one.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Start starts a server with JetStream on loopback, and stops it at the end of the
// test. Unless opts say otherwise it has a free port, and a store that is deleted
// with the test.
func Start(t testing.TB, opts server.Options) *server.Server {
	t.Helper()
	opts.JetStream = true
	if opts.StoreDir == "" {
		opts.StoreDir = t.TempDir()
	}
	return StartCore(t, opts)
}

// StartCore is [Start] for a server without JetStream, unless opts asks for it.
func StartCore(t testing.TB, opts server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.NoSigs, opts.NoLog = "127.0.0.1", true, true
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { Stop(srv) })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return srv
}

// Connect connects to the server at url, until the test ends.
func Connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// JetStream is [Connect] for a test that needs the streams of the server.
func JetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Stop stops a server, and waits until it has stopped. It may be called again.
func Stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}
