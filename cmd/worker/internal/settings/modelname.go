package settings

import (
	"regexp"
	"strings"
)

// Alias is a name that another tool has for a model.
type Alias struct {
	Name   string
	Model  string // PROVIDER/NAME
	Date   string // when it was so
	Source string // where that was seen
}

// What says which models the names mean.
const (
	claudeCode = "https://code.claude.com/docs/en/model-config"
	openAI     = "https://developers.openai.com/api/docs/models"
	googleAI   = "https://ai.google.dev/gemini-api/docs/models#latest"
)

// Aliases are the names that other tools have for models. The user's own come before them.
var Aliases = []Alias{
	{"sonnet", "anthropic/claude-sonnet-5-5", "2026-11-28", claudeCode},
	{"opus", "anthropic/claude-opus-5-5", "2026-11-28", claudeCode},
	{"haiku", "anthropic/claude-haiku-5-5", "2026-11-28", claudeCode},
	{"fable", "anthropic/claude-fable-5-2", "2026-11-28", claudeCode},
	{"best", "anthropic/claude-fable-5-2", "2026-11-28", claudeCode},
	{"opusplan", "anthropic/claude-sonnet-5-5", "2026-11-28", claudeCode}, // opus is used only for plans
	{"gpt", "openai/gpt-6.2-sol", "2026-11-28", openAI},
	{"mini", "openai/gpt-5.4-mini", "2026-11-28", "https://developers.openai.com/docs/models"},
	{"flash", "gemini/gemini-flash-latest", "2026-09-12", googleAI},
	{"pro", "gemini/gemini-pro-latest", "2026-09-12", googleAI},
}

// BuiltinAliases has the models of [Aliases] by their names.
var BuiltinAliases = func() map[string]string {
	all := make(map[string]string)
	for _, a := range Aliases {
		all[a.Name] = a.Model
	}
	return all
}()

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

	// claudeVersion is a version in a name of Claude as people write it: 4.6.
	claudeVersion = regexp.MustCompile(`(\d)\.(\d)`)
)

// plainName returns a name without what other tools write around it: blanks, and the vendor.
func plainName(name string) string {
	return strings.TrimSpace(vendorNote.ReplaceAllString(strings.TrimSpace(name), ""))
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
