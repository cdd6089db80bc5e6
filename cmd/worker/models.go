package main

import (
	"fmt"
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

// models makes the models of a worker.
type models struct {
	getenv   func(string) string
	fallback string // the model of the empty name; empty: by the keys that are set
}

// get returns the model of a name as --model takes it.
func (m models) get(name string) (model.Model, error) {
	if name == "" {
		name = m.fallback
	}
	if name == "" {
		name = m.byKey()
	}
	provider, rest, _ := strings.Cut(name, "/")
	switch {
	case name == "offline":
		return offlinemodel.New(), nil
	case provider == "anthropic" && rest != "":
		key := m.getenv("ANTHROPIC_API_KEY")
		if key == "" {
			return nil, fmt.Errorf("model %s: ANTHROPIC_API_KEY is not set", name)
		}
		return anthropicmodel.New(rest, &anthropicmodel.Options{APIKey: key, BaseURL: m.getenv("ANTHROPIC_BASE_URL")}), nil
	case provider == "openai" && rest != "":
		key, base := m.getenv("OPENAI_API_KEY"), m.getenv("OPENAI_BASE_URL")
		if key == "" && base == "" {
			return nil, fmt.Errorf("model %s: neither OPENAI_API_KEY nor OPENAI_BASE_URL is set", name)
		}
		return openaimodel.New(rest, &openaimodel.Options{APIKey: key, BaseURL: base}), nil
	case provider == "replay" && rest != "":
		return replaymodel.Load(rest)
	default:
		return nil, fmt.Errorf("unknown model %q: use offline, anthropic/NAME, openai/NAME or replay/FILE", name)
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
