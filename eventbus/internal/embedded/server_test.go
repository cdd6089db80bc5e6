package embedded

import (
	"log/slog"
	"testing"
	"time"
)

// TestSync: the server of the store syncs to disk as often as its options say.
func TestSync(t *testing.T) {
	for _, tt := range []struct {
		name     string
		sync     Sync
		always   bool
		interval time.Duration
	}{
		{"default", Sync{}, false, DefaultSync},
		{"interval", Sync{Interval: time.Second}, false, time.Second},
		{"always", Sync{Always: true}, true, DefaultSync},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, _, err := startServer(t.TempDir(), "token", tt.sync, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer srv.WaitForShutdown()
			defer srv.Shutdown()
			if cfg := srv.JetStreamConfig(); cfg.SyncAlways != tt.always || cfg.SyncInterval != tt.interval {
				t.Errorf("always %t every %s, want %t every %s", cfg.SyncAlways, cfg.SyncInterval, tt.always, tt.interval)
			}
		})
	}
}
