package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

// TestRequired: a call that lacks what the schema requires, or has null there, is not run: one
// that was cut off must not empty a file.
func TestRequired(t *testing.T) {
	p := newPlace(t, &tool.Options{}, map[string]string{"a.txt": "kept\n"})
	for name, built := range p.tools {
		var schema struct {
			Required   []string
			Properties map[string]struct{ Type any }
		}
		if err := json.Unmarshal(built.Spec().InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for _, left := range schema.Required {
			given := map[string]any{"path": "a.txt"}
			for _, key := range schema.Required {
				if _, ok := given[key]; !ok {
					given[key] = "kept"
				}
			}
			for _, null := range []bool{false, true} {
				if delete(given, left); null {
					given[left] = nil
				}
				for key := range given {
					if _, ok := schema.Properties[key]; !ok {
						delete(given, key)
					}
				}
				raw, err := json.Marshal(given)
				if err != nil {
					t.Fatal(err)
				}
				prepared, err := built.(tool.Preparer).Prepare(raw)
				if err == nil {
					_, err = prepared.Run(t.Context(), &tool.Call{Args: raw, Rules: layersOf(t, `{"*": "allow"}`)})
				}
				if err == nil || !strings.Contains(err.Error(), left) {
					t.Errorf("%s %s: %v", name, raw, err)
				}
			}
		}
	}
	if content, err := os.ReadFile(filepath.Join(p.dir, "a.txt")); err != nil || string(content) != "kept\n" {
		t.Errorf("%q, %v", content, err)
	}
}
