package secrets_test

import (
	"slices"
	"testing"

	"github.com/agentworker/worker/internal/secrets"
)

// TestInValue: what is masked in a text is a key in a variable, too.
func TestInValue(t *testing.T) {
	for name, key := range keys {
		if !secrets.InValue("x " + key) {
			t.Errorf("%s: %q is none", name, key)
		}
	}
}

// TestEnviron: programs that the worker runs for itself get no keys.
func TestEnviron(t *testing.T) {
	env := []string{"PATH=/bin", "OPENAI_API_KEY=x", "worker_nats=x", "DISPLAY=:0", "A=" + keys["GitHub"]}
	if got := secrets.Environ(env); !slices.Equal(got, []string{"PATH=/bin", "DISPLAY=:0"}) {
		t.Errorf("%q", got)
	}
}
