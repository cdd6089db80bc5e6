package settings_test

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
)

// TestContextWindow: the setting is for unknown windows, and bounds known ones once somebody has set
// it.
func TestContextWindow(t *testing.T) {
	for _, tt := range []struct {
		set         string // empty: nobody has
		known, want int64
	}{
		{"", 0, 128_000}, {"", 1_000_000, 1_000_000}, {"", 8_000, 8_000},
		{"50000", 0, 50_000}, {"50000", 1_000_000, 50_000}, {"50000", 8_000, 8_000},
		{"0", 0, 0}, {"0", 1_000_000, 1_000_000},
	} {
		set, flags := new(settings.Settings), pflag.NewFlagSet("worker", pflag.ContinueOnError)
		set.Register(flags)
		getenv := func(name string) string {
			return map[string]string{"WORKER_CONTEXT_WINDOW": tt.set, "XDG_CONFIG_HOME": t.TempDir(), "HOME": t.TempDir()}[name]
		}
		if err := set.Load(getenv); err != nil {
			t.Fatal(err)
		}
		if got := set.ContextWindow.Of(tt.known); got != tt.want {
			t.Errorf("set to %q, of %d known tokens: %d, want %d", tt.set, tt.known, got, tt.want)
		}
	}
}
