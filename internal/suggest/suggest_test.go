package suggest_test

import (
	"testing"

	"github.com/agentworker/worker/internal/suggest"
)

func TestNearest(t *testing.T) {
	names := []string{"explore", "general", "reviewer", "list", "log"}
	for given, want := range map[string]string{
		"explor": "explore", "exlpore": "explore", "Generall": "general", "lst": "list", "rev": "reviewer", "zebra": "", "x": "", "": "",
	} {
		if got := suggest.Nearest(given, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", given, got, want)
		}
	}
}
