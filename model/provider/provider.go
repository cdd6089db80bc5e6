// Package provider is the table of the providers of models, and the HTTP client that
// asks one.
package provider

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Form is the API that a provider speaks.
type Form string

// The forms.
const (
	Messages  Form = "messages"  // Anthropic's Messages API
	Chat      Form = "chat"      // OpenAI's Chat Completions API
	Responses Form = "responses" // OpenAI's Responses API
)

// Forms are all of them.
var Forms = []Form{Messages, Chat, Responses}

// Row is what is known of a provider.
type Row struct {
	Name   string // as in the names of models: NAME/MODEL
	Form   Form
	Base   string // its address; empty means that each customer has one of their own
	Prefix string // what its variables begin with: OPENAI_API_KEY, OPENAI_BASE_URL
	Key    string // the variable of the key, where it is not PREFIX_API_KEY
	Header string // that carries the key; empty means "Authorization: Bearer"

	Listed  string   // its name at models.dev, if it has another one there
	Keyless bool     // a server of one's own, which may need no key
	Default string   // the model that is used where none is named
	Hosts   []string // further hosts of the provider, with those below them

	AnyOrder bool // takes messages in any order of roles; others may want that of a chat template
	NoThinks bool // refuses messages with what the model has thought
	OpenAI   bool // OpenAI's own models: they refuse max_tokens, and sampling beside reasoning
	Patches  bool // has OpenAI's models among others, by their names: see [Patches]
}

// Rows are the providers, in the order in which one is chosen by its key.
var Rows = []Row{
	{Name: "anthropic", Form: Messages, Base: "https://api.anthropic.com", Prefix: "ANTHROPIC", Header: "X-Api-Key", Default: "claude-sonnet-5-5", AnyOrder: true},
	{Name: "openai", Form: Chat, Base: "https://api.openai.com/v1", Prefix: "OPENAI", Default: "gpt-5.5", Keyless: true, AnyOrder: true, OpenAI: true, Patches: true},
	{Name: "gemini", Listed: "google", Form: Chat, Base: "https://generativelanguage.googleapis.com/v1beta/openai", Prefix: "GEMINI", Hosts: []string{"googleapis.com"}, AnyOrder: true},
	{Name: "deepseek", Form: Chat, Base: "https://api.deepseek.com", Prefix: "DEEPSEEK", AnyOrder: true},
	{Name: "mistral", Form: Chat, Base: "https://api.mistral.ai/v1", Prefix: "MISTRAL", NoThinks: true},
	{Name: "xai", Form: Chat, Base: "https://api.x.ai/v1", Prefix: "XAI", AnyOrder: true},
	{Name: "groq", Form: Chat, Base: "https://api.groq.com/openai/v1", Prefix: "GROQ", AnyOrder: true, NoThinks: true, Patches: true},
	{Name: "openrouter", Form: Chat, Base: "https://openrouter.ai/api/v1", Prefix: "OPENROUTER", AnyOrder: true, Patches: true},
	{Name: "together", Listed: "togetherai", Form: Chat, Base: "https://api.together.xyz/v1", Prefix: "TOGETHER", Patches: true},
	{Name: "fireworks", Listed: "fireworks-ai", Form: Chat, Base: "https://api.fireworks.ai/inference/v1", Prefix: "FIREWORKS", Patches: true},
	{Name: "moonshot", Listed: "moonshotai", Form: Chat, Base: "https://api.moonshot.ai/v1", Prefix: "MOONSHOT"},
	{Name: "zai", Form: Chat, Base: "https://api.z.ai/api/paas/v4", Prefix: "ZAI"},
	{Name: "qwen", Listed: "alibaba", Form: Chat, Base: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Prefix: "DASHSCOPE"},
	{Name: "azure", Form: Chat, Prefix: "AZURE_OPENAI", Header: "Api-Key", Hosts: []string{"openai.azure.com", "services.ai.azure.com"}, AnyOrder: true, OpenAI: true, Patches: true},
	{Name: "github", Listed: "github-models", Form: Chat, Base: "https://models.github.ai/inference", Prefix: "GITHUB_MODELS", Key: "GITHUB_TOKEN", Hosts: []string{"githubcopilot.com"}, AnyOrder: true, Patches: true},
	{Name: "ollama", Form: Chat, Base: "http://localhost:11434/v1", Prefix: "OLLAMA", Keyless: true, Patches: true},
	{Name: "lmstudio", Form: Chat, Base: "http://localhost:1234/v1", Prefix: "LMSTUDIO", Keyless: true, Patches: true},
	{Name: "llamacpp", Form: Chat, Base: "http://localhost:8080/v1", Prefix: "LLAMACPP", Keyless: true, Patches: true},
	{Name: "vllm", Form: Chat, Base: "http://localhost:8000/v1", Prefix: "VLLM", Keyless: true, Patches: true},
	{Name: "litellm", Form: Chat, Base: "http://localhost:4000/v1", Prefix: "LITELLM", Keyless: true, Patches: true},
}

// Local reports whether the provider is a server of one's own, which is looked for at its usual port.
func (r Row) Local() bool { return hostOf(r.Base) == "localhost" }

// ByResponses reports whether the provider wants the model to be asked by the Responses API: OpenAI does
// for its models that reason. Chat Completions takes no effort beside tools from them, and
// does not keep their thoughts (https://platform.openai.com/docs/guides/migrate-to-responses).
func (r Row) ByResponses(model string) bool { return r.Name == "openai" && reasons.MatchString(model) }

// Patches reports whether a model, which is named as [model.Model.Name] does, is trained to write
// patches: OpenAI's are (https://github.com/openai/codex, codex-rs/core/src/model_family.rs gives
// the tool apply_patch, or its text, to all of them).
func Patches(name string) bool {
	at, model, _ := strings.Cut(name, "/")
	row, _ := Named(at)
	return row.Patches && openAIs.MatchString(model)
}

// openAIs matches OpenAI's models, whatever path is before their names.
var openAIs = regexp.MustCompile(`(^|/)(gpt-|o\d|codex)`)

// reasons matches OpenAI's models that reason.
var reasons = regexp.MustCompile(`^(gpt-([5-9]|\d\d)(\.|-|$)|o\d|codex)`)

// OfModelsDev returns the name of a provider that is called theirs at models.dev; empty means that there
// is none (https://github.com/anomalyco/models.dev, the folders of providers).
func OfModelsDev(theirs string) string {
	for _, r := range Rows {
		if theirs == cmp.Or(r.Listed, r.Name) {
			return r.Name
		}
	}
	return ""
}

// Named returns the row of a provider; false means that there is none of that name.
func Named(name string) (Row, bool) {
	i := slices.IndexFunc(Rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return Rows[i], true
}

// At returns the row of the provider whose server an address is. It is the zero Row for
// any other server, such as a gateway or one of this machine.
func At(base string) Row {
	host := hostOf(base)
	for _, r := range Rows {
		for _, theirs := range append([]string{hostOf(r.Base)}, r.Hosts...) {
			if theirs != "" && theirs != "localhost" && (host == theirs || strings.HasSuffix(host, "."+theirs)) {
				return r
			}
		}
	}
	return Row{}
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// KeyVariable names the variable of the key.
func (r Row) KeyVariable() string {
	if r.Key != "" {
		return r.Key
	}
	return r.Prefix + "_API_KEY"
}

// BaseVariable names the variable of the address.
func (r Row) BaseVariable() string { return r.Prefix + "_BASE_URL" }
