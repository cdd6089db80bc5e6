package toolcatalog_test

import (
	"testing"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// TestDefaults holds the table against permission/defaults.jsonc.
func TestDefaults(t *testing.T) {
	seeded := map[string]string{}
	for r := range permission.Defaults().Rules() {
		if r.Pattern == "*" && r.Tool != "*" {
			seeded[r.Tool] = r.Action.String()
		}
	}
	for _, tool := range toolcatalog.All {
		if seeded[tool.Name] != tool.Default {
			t.Errorf("the default rules say %q of %s, its row %q", seeded[tool.Name], tool.Name, tool.Default)
		}
		delete(seeded, tool.Name)
	}
	for name := range seeded {
		t.Errorf("the default rules name %s, which has no row", name)
	}
}
