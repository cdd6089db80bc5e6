package embedded_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/eventbus/internal/embedded"
)

// TestNoLeader: Open fails if another process holds the lock and can't be reached, or if the
// address is not its own.
func TestNoLeader(t *testing.T) {
	strangerDir := t.TempDir()
	open(t, strangerDir)
	open(t, strangerDir)
	url, token := readAddress(t, strangerDir)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, at := range map[string]any{
		"no address":              nil,
		"another server":          map[string]string{"url": url, "token": "of a killed one", "lock": "x.listen"},
		"a port without a server": map[string]string{"url": "nats://" + silent.Addr().String(), "token": token, "lock": "x.listen"},
		"elsewhere":               map[string]string{"url": "nats://192.0.2.1:4222", "token": token, "lock": "x.listen"},
		"not an address":          "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			held := flock.New(filepath.Join(dir, "leader.lock"))
			if ok, err := held.TryLock(); err != nil || !ok {
				t.Fatal(ok, err)
			}
			defer held.Unlock()
			if err := os.MkdirAll(filepath.Join(dir, "rendezvous"), 0o700); err != nil {
				t.Fatal(err)
			}
			there := flock.New(filepath.Join(dir, "rendezvous", "x.listen"))
			if ok, err := there.TryLock(); err != nil || !ok {
				t.Fatal(ok, err)
			}
			defer there.Unlock()
			if data, err := json.Marshal(at); err != nil {
				t.Fatal(err)
			} else if err := os.WriteFile(filepath.Join(dir, "rendezvous", "address.json"), data, 0o600); at != nil && err != nil {
				t.Fatal(err)
			}
			store, err := join(t, dir, slog.New(slog.DiscardHandler))
			if !errors.Is(err, embedded.ErrNoLeader) {
				t.Errorf("%v, want %v", err, embedded.ErrNoLeader)
			}
			if err == nil {
				store.close()
			}
			if asks, err := filepath.Glob(filepath.Join(dir, "rendezvous", "*.request")); err != nil || len(asks) > 0 {
				t.Errorf("%v, %v are left", asks, err)
			}
		})
	}
}

// TestNoLock: a store whose lock can't be taken is not opened without it.
func TestNoLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "leader.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if store, err := join(t, dir, slog.New(slog.DiscardHandler)); err == nil {
		store.close()
		t.Error("a store without a lock was opened")
	}
}
