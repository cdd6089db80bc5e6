package settings

import (
	"regexp"
	"strings"
)

// BuiltinAliases are the names that other tools have for models, as of November 2026: Claude
// Code's, and short ones of other vendors. The user's aliases come before them.
var BuiltinAliases = map[string]string{
	"sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "haiku": "claude-haiku-5-5", "fable": "claude-fable-5-1",
	"best": "claude-opus-5-5", "opusplan": "claude-sonnet-5-5", // it uses opus only for plans
	"gpt": "gpt-5.5", "mini": "gpt-5.4-mini", "flash": "gemini-flash-latest", "pro": "gemini-pro-latest",
}

// families are the beginnings of names of models, in lower case, with their provider.
var families = []struct{ begins, provider string }{
	{"claude-", "anthropic"}, {"gpt-", "openai"}, {"chatgpt-", "openai"}, {"codex-", "openai"}, {"gemini-", "gemini"}, {"grok-", "xai"},
	{"mistral-", "mistral"}, {"magistral-", "mistral"}, {"codestral-", "mistral"}, {"devstral-", "mistral"}, {"ministral-", "mistral"},
	{"deepseek-", "deepseek"}, {"kimi-", "moonshot"}, {"glm-", "zai"}, {"qwen", "qwen"},
}

var (
	// openAISeries matches further names of OpenAI's models: o3, o4-mini.
	openAISeries = regexp.MustCompile(`^o\d+(-|$)`)

	// vendorNote is the vendor after a name, as Copilot writes it: "(copilot)".
	vendorNote = regexp.MustCompile(`\s*\([^()]*\)$`)

	// longWindow is what Claude Code's names end in for a window of a million tokens.
	longWindow = regexp.MustCompile(`(?i)\[1m\]$`)

	// claudeVersion is a version in a name of Claude as people write it: 4.6.
	claudeVersion = regexp.MustCompile(`(\d)\.(\d)`)
)

// plainName returns a name without what other tools write around it: blanks, the vendor, and the
// mark of a long window, which is not asked for here.
func plainName(name string) string {
	name = vendorNote.ReplaceAllString(strings.TrimSpace(name), "")
	return longWindow.ReplaceAllString(strings.TrimSpace(name), "")
}

// ofFamily returns a model that is named without its provider as PROVIDER/NAME, in the spelling of
// the provider: "Claude Sonnet 4.6" is anthropic/claude-sonnet-4-6. It returns "" for a name of no
// family.
func ofFamily(name string) string {
	lower := strings.Join(strings.Fields(strings.ToLower(name)), "-")
	if openAISeries.MatchString(lower) {
		return "openai/" + lower
	}
	for _, f := range families {
		if strings.HasPrefix(lower, f.begins) && len(lower) > len(f.begins) {
			if f.provider == "anthropic" {
				lower = claudeVersion.ReplaceAllString(lower, "$1-$2")
			}
			return f.provider + "/" + lower
		}
	}
	return ""
}
