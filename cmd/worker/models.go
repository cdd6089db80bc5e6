package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/offlinemodel"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

// The models used where a key is set and no model is named.
const (
	defaultAnthropicModel = "claude-sonnet-5-5"
	defaultOpenAIModel    = "gpt-5.5"
)

// builtinAliases are the names that agent files of other tools use for
// Anthropic's models. The user's aliases come before them.
var builtinAliases = map[string]string{
	"sonnet": defaultAnthropicModel,
	"opus":   "claude-opus-5-5",
	"haiku":  "claude-haiku-5-5",
}

// openAIModel matches the names of OpenAI's models: gpt-5.5, o3, o4-mini.
var openAIModel = regexp.MustCompile(`^(gpt-|o\d+(-|$))`)

// models makes the models of a worker.
type models struct {
	getenv   func(string) string
	fallback string // the model of the empty name; empty: by the keys that are set
	aliases  modelAliases
}

func (p *program) models() models {
	return models{p.getenv, p.settings.model, p.settings.modelAliases}
}

// resolve returns the name of a model as "offline" or PROVIDER/NAME. name may
// be an alias, in any case, or the name of a model at Anthropic or OpenAI alone.
func (m models) resolve(name string) (string, error) {
	given := name
	for range len(m.aliases) + 1 {
		target, ok := m.aliases[strings.ToLower(name)]
		if !ok {
			break
		}
		name = target
	}
	lower := strings.ToLower(name)
	if _, endless := m.aliases[lower]; endless {
		return "", fmt.Errorf("the model alias %s leads back to itself", given)
	}
	name = cmp.Or(builtinAliases[lower], name)
	provider, rest, ok := strings.Cut(name, "/")
	switch {
	case name == "offline":
		return name, nil
	case ok && rest != "" && (provider == "anthropic" || provider == "openai" || provider == "replay"):
		return name, nil
	case !ok && strings.HasPrefix(name, "claude-"):
		return "anthropic/" + name, nil
	case !ok && openAIModel.MatchString(name):
		return "openai/" + name, nil
	}
	return "", fmt.Errorf("unknown model %q: use offline, anthropic/NAME, openai/NAME, replay/FILE, sonnet, opus, haiku or an alias of --model-alias", name)
}

// known reports whether there is such a model here, and what it needs.
func (m models) known(name string) bool {
	_, err := m.get(name)
	return err == nil
}

// get returns the model of a name as --model takes it.
func (m models) get(name string) (model.Model, error) {
	name, err := m.resolve(cmp.Or(name, m.fallback, m.byKey()))
	if err != nil {
		return nil, err
	}
	provider, rest, _ := strings.Cut(name, "/")
	switch {
	case name == "offline":
		return offlinemodel.New(), nil
	case provider == "anthropic":
		key := m.getenv("ANTHROPIC_API_KEY")
		if key == "" {
			return nil, fmt.Errorf("model %s: ANTHROPIC_API_KEY is not set", name)
		}
		return anthropicmodel.New(rest, &anthropicmodel.Options{APIKey: key, BaseURL: m.getenv("ANTHROPIC_BASE_URL")}), nil
	case provider == "openai":
		key, base := m.getenv("OPENAI_API_KEY"), m.getenv("OPENAI_BASE_URL")
		if key == "" && base == "" {
			return nil, fmt.Errorf("model %s: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set", name)
		}
		return openaimodel.New(rest, &openaimodel.Options{APIKey: key, BaseURL: base}), nil
	default:
		return replaymodel.Load(rest)
	}
}

// byKey returns the default model for the keys that are set.
func (m models) byKey() string {
	switch {
	case m.getenv("ANTHROPIC_API_KEY") != "":
		return "anthropic/" + defaultAnthropicModel
	case m.getenv("OPENAI_API_KEY") != "":
		return "openai/" + defaultOpenAIModel
	default:
		return "offline"
	}
}
