package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/hostmodel"
	"github.com/agentworker/worker/model/offlinemodel"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session"
)

// ofHost makes the model of a host where that is what --model says; nil: it
// says another one.
func (p *program) ofHost() func(mcpserver.Sampler) session.Model {
	if name, err := p.models().resolve(p.settings.Model); err != nil || name != settings.HostModel {
		return nil
	}
	return func(ask mcpserver.Sampler) session.Model { return hostmodel.New(hostmodel.Ask(ask)) }
}

// models makes the models of a worker.
type models struct {
	environ  []string
	getenv   func(string) string
	provider func(name string) *settings.Provider
	fallback string // the model of the empty name; empty: by the keys that are set
	aliases  settings.ModelAliases
}

func (p *program) models() models {
	return models{p.environ, p.getenv, p.settings.Provider, p.settings.Model, p.settings.ModelAliases}
}

// checkModel refuses a --model that there is not.
func (p *program) checkModel() error {
	_, err := p.models().choose("")
	return err
}

// resolve returns the name of a model as "offline", "host" or PROVIDER/NAME. A
// name that no model has is a wrong use, wherever it comes from.
func (m models) resolve(name string) (string, error) {
	name, err := m.aliases.Resolve(name)
	if err != nil {
		return "", usageError{err}
	}
	return name, nil
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
	key, err := p.APIKey(m.environ, m.getenv)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	base := p.Base(m.getenv)
	if at == "anthropic" {
		return anthropicmodel.New(rest, &anthropicmodel.Options{APIKey: key, BaseURL: base}), nil
	}
	if !named && !p.HasKey(m.getenv) { // a server of one's own, which has models of its own
		rest = cmp.Or(p.FirstModel(base), rest)
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
	case name == settings.HostModel:
		return "", errors.New("model host: there is no host here that brings its model along; 'worker mcp', and MCP over HTTP in 'worker serve', have one")
	case p == nil || p.HasKey(m.getenv):
		return name, nil
	case at == "anthropic":
		return "", fmt.Errorf("model %s: ANTHROPIC_API_KEY is not set, nor is --anthropic-api-key-file or --anthropic-api-key-command", name)
	case p.Base(m.getenv) == "": // a server of one's own may need none
		return "", fmt.Errorf("model %s: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set, nor is --openai-api-key-file, --openai-api-key-command or --openai-base-url", name)
	}
	return name, nil
}

// byKey returns the default model for the keys that are set.
func (m models) byKey() string {
	switch {
	case m.provider("anthropic").HasKey(m.getenv):
		return "anthropic/" + settings.DefaultAnthropicModel
	case m.provider("openai").HasKey(m.getenv), m.provider("openai").Base(m.getenv) != "":
		return "openai/" + settings.DefaultOpenAIModel
	default:
		return "offline"
	}
}
