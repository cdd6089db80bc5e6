package main

import (
	"net"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestLostConnection: a worker whose server does not take its user any more ends
// with the reason, and does not stay without a store.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := natstest.Start(t, server.Options{Username: "worker", Password: "before", StoreDir: dir})
	at, ok := first.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("address %v", first.Addr())
	}
	s := serve(t, "--nats", "nats://worker:before@"+at.String())
	s.line("as the service agentworker")
	natstest.Stop(first)
	natstest.Start(t, server.Options{Username: "worker", Password: "after", StoreDir: dir, Port: at.Port})
	s.line(`^worker: the connection to the event store is closed for good: .*[Aa]uthorization`)
	if status := <-s.status; status != int(cli.Failed) {
		t.Errorf("exit status %d, want %d", status, int(cli.Failed))
	}
}
