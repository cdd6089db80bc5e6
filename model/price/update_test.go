package price_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model/price"
)

// TestUpdate: the models of a document are added to a file, which is over the built-in table and below
// that of a person. A document that is wrong changes nothing.
func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	file, document := filepath.Join(dir, "models.json"), filepath.Join(dir, "api.json")
	named := func(theirs string) string {
		return map[string]string{"google": "gemini", "anthropic": "anthropic"}[theirs]
	}
	update := func(text string) (int, error) {
		if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return price.Update(file, document, "2026-11-28", named)
	}
	if n, err := update(`{"google": {"id": "google", "models": {"gemini-9": {"id": "gemini-9", "name": "Gemini 9", "cost": {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}},
		"limit": {"context": 1000, "output": 100}, "modalities": {"input": ["text", "image"], "output": ["text"]}, "last_updated": "2026-11-01"}}}, "strange": {"models": {"x": {}}}}`); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if n, err := update(`{"anthropic": {"models": {"claude-next": {"cost": {"input": 7, "output": 8}}}}}`); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	own := filepath.Join(dir, "own.json")
	if err := os.WriteFile(own, []byte(`{"anthropic": {"models": {"claude-next": {"cost": {"input": 70, "output": 80}}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	prices, err := price.Load(file, own)
	if err != nil {
		t.Fatal(err)
	}
	if row := prices.Row("gemini/gemini-9"); row != (price.Row{Window: 1000, Output: 100, Vision: true, Date: "2026-11-28"}) {
		t.Errorf("%+v", row)
	}
	for name, want := range map[string]float64{"gemini/gemini-9": 1, "anthropic/claude-next": 70, "anthropic/claude-opus-5-5": 4} {
		if input, _, known := prices.Rates(name); !known || input != want {
			t.Errorf("%s costs %v, want %v", name, input, want)
		}
	}
	if names := strings.Join(prices.Names(), " "); !strings.Contains(names, "gemini/gemini-9") || strings.Contains(names, "strange") {
		t.Error(names)
	}
	before, _ := os.ReadFile(file)
	for _, wrong := range []string{
		``, `[]`, `{}`, `{"strange": {"models": {"x": {"cost": {"input": 1, "output": 1}}}}}`,
		`{"google": {"models": {"a\u001b[31m": {"cost": {"input": 1, "output": 1}}}}}`,
		`{"google": {"models": {"a": {"cost": {"input": -1, "output": 1}}}}}`,
		`{"google": {"models": {"a": {"cost": {"input": 1}}}}}`,
	} {
		if n, err := update(wrong); err == nil {
			t.Errorf("%s is taken: %d", wrong, n)
		}
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Errorf("the file is another one: %s", after)
	}
}
