package errtext_test

import (
	"testing"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                "0s",
		500 * time.Millisecond:           "500ms",
		10 * time.Second:                 "10s",
		2 * time.Minute:                  "2m",
		90 * time.Second:                 "1m30s",
		10 * time.Minute:                 "10m",
		24 * time.Hour:                   "24h",
		90 * time.Minute:                 "1h30m",
		time.Hour + 5*time.Second:        "1h0m5s",
		20*time.Minute + 500*time.Second: "28m20s",
	} {
		if got := errtext.Duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
