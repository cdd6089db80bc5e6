package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/hostmodel"
	"github.com/agentworker/worker/model/offlinemodel"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session"
)

// The models used where a key is set and no model is named.
const (
	defaultAnthropicModel = "claude-sonnet-5-5"
	defaultOpenAIModel    = "gpt-5.5"
)

// hostModel is the model of the MCP host that calls.
const hostModel = "host"

// ofHost makes the model of a host where that is what --model says; nil: it
// says another one.
func (p *program) ofHost() func(mcpserver.Sampler) session.Model {
	if name, err := p.models().resolve(p.settings.model); err != nil || name != hostModel {
		return nil
	}
	return func(ask mcpserver.Sampler) session.Model { return hostmodel.New(hostmodel.Ask(ask)) }
}

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
	environ  []string
	getenv   func(string) string
	provider func(name string) *provider
	fallback string // the model of the empty name; empty: by the keys that are set
	aliases  modelAliases
}

func (p *program) models() models {
	return models{p.environ, p.getenv, p.settings.provider, p.settings.model, p.settings.modelAliases}
}

// checkModel refuses a --model that there is not.
func (p *program) checkModel() error {
	_, err := p.models().choose("")
	return err
}

// unknownModel is the error for a name that no model has: it is a wrong use
// wherever the name comes from.
func unknownModel(name string, aliases modelAliases) error {
	names := slices.Concat([]string{"offline", hostModel}, slices.Collect(maps.Keys(builtinAliases)), slices.Collect(maps.Keys(aliases)))
	return usageError{fmt.Errorf("unknown model %q%s: use offline, host, anthropic/NAME, openai/NAME, replay/FILE, sonnet, opus, haiku or an alias of --model-alias",
		name, didYouMean(name, names))}
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
	case name == "offline" || name == hostModel:
		return name, nil
	case ok && rest != "" && (provider == "anthropic" || provider == "openai" || provider == "replay"):
		return name, nil
	case !ok && strings.HasPrefix(name, "claude-"):
		return "anthropic/" + name, nil
	case !ok && openAIModel.MatchString(name):
		return "openai/" + name, nil
	}
	return "", unknownModel(name, m.aliases)
}

// known reports whether there is such a model here, and what it needs. It asks
// nobody for a key.
func (m models) known(name string) bool {
	name, err := m.choose(name)
	if err != nil {
		return false
	}
	if script, ok := strings.CutPrefix(name, "replay/"); ok {
		_, err = replaymodel.Load(script)
	}
	return err == nil
}

// get returns the model of a name as --model takes it.
func (m models) get(name string) (model.Model, error) {
	named := cmp.Or(name, m.fallback) != ""
	name, err := m.choose(name)
	if err != nil {
		return nil, err
	}
	at, rest, _ := strings.Cut(name, "/")
	switch at {
	case "offline":
		return offlinemodel.New(), nil
	case "replay":
		return replaymodel.Load(rest)
	}
	p := m.provider(at)
	key, err := p.apiKey(m.environ, m.getenv)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	base := p.base(m.getenv)
	if at == "anthropic" {
		return anthropicmodel.New(rest, &anthropicmodel.Options{APIKey: key, BaseURL: base}), nil
	}
	if !named && !p.hasKey(m.getenv) { // a server of one's own, which has models of its own
		rest = cmp.Or(p.firstModel(base), rest)
	}
	return openaimodel.New(rest, &openaimodel.Options{APIKey: key, BaseURL: base}), nil
}

// choose returns the model that a name stands for, as "offline" or
// PROVIDER/NAME, if what it needs is set.
func (m models) choose(name string) (string, error) {
	name, err := m.resolve(cmp.Or(name, m.fallback, m.byKey()))
	if err != nil {
		return "", err
	}
	at, _, _ := strings.Cut(name, "/")
	p := m.provider(at)
	switch {
	case name == hostModel:
		return "", errors.New("model host: there is no host here that brings its model along; 'worker mcp', and MCP over HTTP in 'worker serve', have one")
	case p == nil || p.hasKey(m.getenv):
		return name, nil
	case at == "anthropic":
		return "", fmt.Errorf("model %s: ANTHROPIC_API_KEY is not set, nor is --anthropic-api-key-file or --anthropic-api-key-command", name)
	case p.base(m.getenv) == "": // a server of one's own may need none
		return "", fmt.Errorf("model %s: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set, nor is --openai-api-key-file, --openai-api-key-command or --openai-base-url", name)
	}
	return name, nil
}

// byKey returns the default model for the keys that are set.
func (m models) byKey() string {
	switch {
	case m.provider("anthropic").hasKey(m.getenv):
		return "anthropic/" + defaultAnthropicModel
	case m.provider("openai").hasKey(m.getenv), m.provider("openai").base(m.getenv) != "":
		return "openai/" + defaultOpenAIModel
	default:
		return "offline"
	}
}
