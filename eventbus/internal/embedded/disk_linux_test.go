package embedded_test

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/agentworker/worker/eventbus/internal/embedded"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestAddressOnFullDisk: a leader that can't write its address to a full disk tries again 4
// times a second, and logs the reason once. It does not mistake its own tries for requests. A
// process that has requested the address learns the reason, too.
func TestAddressOnFullDisk(t *testing.T) {
	disk, here := natstest.SmallDisk(t, "24m")
	if !here {
		return
	}
	dir := filepath.Join(disk, "nats")
	var log bytes.Buffer
	leading, err := join(t, dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	if err := watcher.Add(filepath.Join(dir, "rendezvous")); err != nil {
		t.Fatal(err)
	}
	tries := 0
	var counting sync.WaitGroup
	counting.Go(func() {
		for e := range watcher.Events { // until it is closed
			if e.Has(fsnotify.Create) && filepath.Ext(e.Name) == ".listen" {
				tries++
			}
		}
	})

	free := natstest.Fill(t, disk, 0)
	began := time.Now()
	store, err := join(t, dir, slog.New(slog.DiscardHandler))
	if !errors.Is(err, embedded.ErrNoLeader) || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("opening the store on a full disk: %v, want the reason", err)
	}
	if store != nil {
		store.close()
	}
	took := time.Since(began)
	if err := watcher.Close(); err != nil {
		t.Error(err)
	}
	counting.Wait()
	if most := 1 + int(took/(250*time.Millisecond)); tries < 1 || tries > most {
		t.Errorf("%d tries in %s, want %d at most", tries, took, most)
	}
	free()
	open(t, dir)

	if err := leading.close(); err != nil {
		t.Error(err)
	}
	if n, most := strings.Count(log.String(), "other processes can't connect"), 1+int(took/time.Minute); n < 1 || n > most {
		t.Errorf("it is logged %d times, want once:\n%.2000s", n, log.String())
	}
}
