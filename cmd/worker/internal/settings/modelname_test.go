package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/model/provider"
)

// TestNames: the names that files of other tools have mean the models that they mean there.
func TestNames(t *testing.T) {
	known := func(name string) bool { _, ok := provider.Named(name); return ok }
	own := settings.ModelAliases{"fast": "openai/gpt-5-nano", "opus": "claude-opus-4-8"}
	for name, want := range map[string]string{
		"sonnet": "anthropic/claude-sonnet-5-5", "Sonnet": "anthropic/claude-sonnet-5-5", "sonnet[1m]": "anthropic/claude-sonnet-5-5[1m]", " haiku ": "anthropic/claude-haiku-5-5",
		"fable": "anthropic/claude-fable-5-2", "best": "anthropic/claude-fable-5-2", "opusplan": "anthropic/claude-sonnet-5-5", "OpusPlan": "anthropic/claude-sonnet-5-5",
		"opus": "anthropic/claude-opus-4-8", "opus[1m]": "anthropic/claude-opus-4-8[1m]", "fast[1m]": "openai/gpt-5-nano", "fast (copilot)": "openai/gpt-5-nano",
		"GPT-5": "openai/gpt-5", "GPT-5 (copilot)": "openai/gpt-5", "GPT-5 mini": "openai/gpt-5-mini", "GPT 4.1": "openai/gpt-4.1", "gpt-5.4": "openai/gpt-5.4", "o3": "openai/o3", "o4-mini (Preview)": "openai/o4-mini",
		"Claude Sonnet 4.5 (copilot)": "anthropic/claude-sonnet-4-5", "Claude Opus 4.6": "anthropic/claude-opus-4-6", "claude-opus-4.6": "anthropic/claude-opus-4-6", "claude-opus-4-6[1M]": "anthropic/claude-opus-4-6[1m]",
		"claude-sonnet-4-5-20250929[1m]": "anthropic/claude-sonnet-4-5-20250929[1m]", "claude-haiku-4-5[1m]": "anthropic/claude-haiku-4-5", "openrouter/anthropic/claude-sonnet-5[1m]": "openrouter/anthropic/claude-sonnet-5[1m]",
		"anthropic/claude-sonnet-5-5[1M] (copilot)": "anthropic/claude-sonnet-5-5[1m]", "openai/gpt-5.5[1m]": "openai/gpt-5.5", "haiku[1m]": "anthropic/claude-haiku-5-5[1m]",
		"claude-3.5-sonnet": "anthropic/claude-3-5-sonnet", "claude-haiku-4-5-20251001": "anthropic/claude-haiku-4-5-20251001",
		"Gemini 3 Pro (Preview)": "gemini/gemini-3-pro", "gemini-2.0-flash": "gemini/gemini-2.0-flash", "Grok 4": "xai/grok-4", "deepseek-chat": "deepseek/deepseek-chat", "kimi-k3": "moonshot/kimi-k3", "glm-5.1": "zai/glm-5.1",
		"qwen3-coder": "qwen/qwen3-coder", "devstral-medium": "mistral/devstral-medium", "gpt": "openai/gpt-6.2-sol", "mini": "openai/gpt-5.4-mini", "flash": "gemini/gemini-flash-latest", "pro": "gemini/gemini-pro-latest",
		"anthropic/claude-sonnet-4.5": "anthropic/claude-sonnet-4.5", "openai/GPT-5": "openai/GPT-5", "offline": "offline", "replay/a (b).jsonl": "replay/a (b).jsonl",
	} {
		if got, err := own.Resolve(name, known); got != want {
			t.Errorf("%q is %q, want %q: %v", name, got, want, err)
		}
	}
	for _, a := range settings.Aliases {
		if got, err := (settings.ModelAliases{}).Resolve(a.Name, known); err != nil || got != a.Model {
			t.Errorf("%s is %q, want %s: %v", a.Name, got, a.Model, err)
		}
		if day, err := time.Parse(time.DateOnly, a.Date); err != nil || day.After(time.Now()) || !strings.HasPrefix(a.Source, "https://") {
			t.Errorf("%s: as of %q, seen at %q", a.Name, a.Date, a.Source)
		}
	}
	for _, name := range []string{"", "auto", "mystery", "mystery/x", "claude-", "(copilot)", "[1m]"} {
		if got, err := own.Resolve(name, known); err == nil {
			t.Errorf("%q is %q", name, got)
		}
	}
}
