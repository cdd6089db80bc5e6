// Package natstest starts NATS servers for tests that use an external one.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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

// Stop stops a server, and waits until it has stopped. It may be called again.
func Stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}
