package price_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/model/provider"
)

func table(t *testing.T, file string) *price.Table {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "prices.json")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := price.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return prices
}

func TestCost(t *testing.T) {
	own := `{"openai": {"name": "other", "models": {
		"mine": {"limit": {"context": 1}, "cost": {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}},
		"gpt-5.5": {"cost": {"input": 0, "output": 0}},
		"unsaid": {"id": "unsaid"}}}}`
	builtIn, overlaid := table(t, ""), table(t, own)
	for _, c := range []struct {
		prices *price.Table
		model  string
		usage  model.Usage
		want   string // empty means not known
	}{
		{builtIn, "anthropic/claude-sonnet-5-5", model.Usage{InputTokens: 1_000_000, OutputTokens: 1_000_000}, "12"},
		{builtIn, "anthropic/claude-sonnet-5-5-20260924", model.Usage{OutputTokens: 1}, "0.00001"},
		{builtIn, "anthropic/claude-opus-5", model.Usage{InputTokens: 1000, CacheReadTokens: 600, CacheWriteTokens: 300}, "0.002675"},
		{builtIn, "anthropic/claude-haiku-5-5", model.Usage{InputTokens: 100_000}, "0.01"},
		{builtIn, "anthropic/claude-haiku-5-5", model.Usage{InputTokens: 100_001}, "0.0500005"},
		{builtIn, "openai/gpt-5.5", model.Usage{InputTokens: 1_000}, "0.005"},
		{builtIn, "gemini/gemini-2.5-pro", model.Usage{InputTokens: 200_000, CacheReadTokens: 100_000, OutputTokens: 1000}, "0.1475"},
		{builtIn, "gemini/gemini-2.5-pro", model.Usage{InputTokens: 200_001, OutputTokens: 1000}, "0.5150025"},
		{builtIn, "openrouter/mistralai/mistral-medium-3-5", model.Usage{InputTokens: 1_000_000}, "1.5"},
		{builtIn, "openai/gpt-5.4", model.Usage{InputTokens: 272_001}, "1.360005"},
		{builtIn, "corp/gemini-2.5-pro", model.Usage{InputTokens: 1}, ""},
		{overlaid, "gemini/gemini-2.5-pro", model.Usage{OutputTokens: 1_000_000}, "10"},
		{builtIn, "openai/mine", model.Usage{InputTokens: 1}, ""},
		{builtIn, "anthropic/gpt-5.5", model.Usage{InputTokens: 1}, ""},
		{builtIn, "host", model.Usage{InputTokens: 1}, ""},
		{builtIn, "offline", model.Usage{InputTokens: 1}, "0"},
		{builtIn, "replay/a.jsonl", model.Usage{InputTokens: 1}, "0"},
		{overlaid, "openai/mine", model.Usage{InputTokens: 200_000, OutputTokens: 1}, "0.200002"},
		{overlaid, "openai/mine", model.Usage{InputTokens: 300_000, CacheReadTokens: 300_000, OutputTokens: 1}, "0.900004"},
		{overlaid, "openai/gpt-5.5", model.Usage{InputTokens: 1_000}, "0"},
		{overlaid, "openai/unsaid", model.Usage{InputTokens: 1}, ""},
		{overlaid, "anthropic/claude-opus-5", model.Usage{OutputTokens: 1_000_000}, "25"},
		{nil, "openai/gpt-5.5", model.Usage{InputTokens: 1}, ""},
		{nil, "offline", model.Usage{InputTokens: 1}, "0"},
	} {
		got := ""
		if c.prices.Known(c.model) {
			got = c.prices.Cost(c.model, c.usage).Number().String()
			if most := c.prices.Most(c.model, c.usage.InputTokens, c.usage.OutputTokens); most < c.prices.Cost(c.model, c.usage) {
				t.Errorf("%s, %+v costs %s, and %s at most", c.model, c.usage, got, most)
			}
		}
		if got != c.want {
			t.Errorf("%s, %+v costs %q, want %q", c.model, c.usage, got, c.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for file, want := range map[string]string{
		`{"openai": {"models": {}}}`: "no price of any model",
		`[]`:                         "the form is the one of https://models.dev/api.json",
		`{"openai": {"models": {"a": {"cost": {"input": 1}}}}}`:                           "openai/a: cost lacks input or output",
		`{"openai": {"models": {"a": {"cost": {"input": -1, "output": 1}}}}}`:             "openai/a: cost -1 is not within",
		`{"openai": {"models": {"a": {"cost": {"input": "1", "output": 1}}}}}`:            "openai/a: cost",
		`{"o": {"models": {"a": {"cost": {"input":1,"output":1,"context_over_1k":{}}}}}}`: "context_over_1k: cost lacks input",
		`{"o": {"models": {"a": {"cost": {"input":1,"output":1,"tiers":[{}]}}}}}`:         "tiers: cost lacks input",
		`{"o": {"models": {"a": {"cost": {"input":1,"output":1,"tiers":1}}}}}`:            "tiers: ",
	} {
		path := filepath.Join(t.TempDir(), "prices.json")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := price.Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error with %q and the file's name", file, err, want)
		}
	}
}

// TestRow: what a file says of a model beside its prices.
func TestRow(t *testing.T) {
	prices := table(t, `{"a": {"models": {
		"sees": {"last_updated": "2026-01-02", "limit": {"context": 10, "output": 5}, "modalities": {"input": ["text", "image", "pdf"]}, "cost": {"input": 1, "output": 1}},
		"reads": {"limit": {"output": -1}, "modalities": {"input": ["text"]}}}}}`)
	for name, want := range map[string]price.Row{
		"a/sees": {Window: 10, Output: 5, Vision: true, Date: "2026-01-02"}, "a/reads": {}, "a/sees-20260102": {Window: 10, Output: 5, Vision: true, Date: "2026-01-02"},
		"mistral/mistral-medium-2604": {Window: 262_144, Output: 262_144, Vision: true, Date: "2026-07-02"}, "corp/mistral-medium-2604": {},
		"openai/gpt-5.2":            {Window: 272_000, Output: 128_000, Vision: true, Date: "2026-06-04"},
		"anthropic/claude-opus-4-6": {Window: 1_000_000, Output: 128_000, Vision: true, Date: "2026-10-24"}, "host": {},
		"anthropic/claude-sonnet-4-5[1m]": {Window: 1_000_000, Output: 64_000, Vision: true, Date: "2026-10-24"}, "corp/claude-sonnet-5[1m]": {Window: 1_000_000},
		"anthropic/claude-sonnet-4-5": {Window: 200_000, Output: 64_000, Vision: true, Date: "2026-10-24"},
	} {
		if got := prices.Row(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := (*price.Table)(nil).Row("a/sees"); got != (price.Row{}) {
		t.Errorf("without a table: %+v", got)
	}
}

// TestListed: every provider whose models have a price has some that are built in, with a window; servers of
// one's own have none.
func TestListed(t *testing.T) {
	prices := table(t, "")
	counts := make(map[string]int)
	for _, name := range prices.Names() {
		of, _, _ := strings.Cut(name, "/")
		if prices.Known(name) && prices.Window(name) > 0 && prices.Row(name).Date != "" {
			counts[of]++
		}
	}
	for _, row := range provider.Rows {
		if !row.Local() && counts[row.Name] < 4 && row.Name != "github" { // whose prices are not known
			t.Errorf("%s: %d models have a price and a window, want 4 at least", row.Name, counts[row.Name])
		}
	}
}
