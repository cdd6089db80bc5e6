// Package models makes the models of a worker from their names.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/offlinemodel"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/provider"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/model/responsesmodel"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session"
)

// Models makes the models of a worker.
type Models struct {
	by       settings.Caller
	getenv   func(string) string
	provider func(name string) *settings.Provider
	named    []string // the models of the empty name, the best first; none means by the keys that are set
	aliases  settings.ModelAliases
	own      settings.AgentKeys
	allows   func(kind policy.Kind, name string) error
}

// New returns the models that settings name, with the keys and addresses in the environment of a program.
// allows returns an error for a model or a provider that a policy forbids.
func New(set *settings.Settings, by settings.Caller, allows func(kind policy.Kind, name string) error) Models {
	return Models{by, by.Getenv, set.Provider, session.SplitModels(set.Model), set.ModelAliases, set.AgentKeys, allows}
}

// Timeouts returns how long a model may be silent, and how long a call of it may take, where the settings
// of its provider say so; 0 means that they do not.
func (m Models) Timeouts(name string) (silence, total time.Duration) {
	at, _, _ := strings.Cut(name, "/")
	if p := m.provider(at); p != nil {
		return p.Timeouts()
	}
	return 0, 0
}

// Defaults returns the models of the empty name where they are a list: the next one answers once one
// has failed.
func (m Models) Defaults() []string {
	if len(m.named) < 2 {
		return nil
	}
	return m.named
}

// Check returns an error if the default model does not exist or lacks its key.
func (m Models) Check() error {
	_, err := m.choose("")
	return err
}

// Resolve returns the name of a model as "offline", "host" or PROVIDER/NAME. An unknown
// name is wrong use, also in a file.
func (m Models) Resolve(name string) (string, error) {
	name, err := m.aliases.Resolve(name, func(provider string) bool { return m.provider(provider) != nil })
	if err != nil {
		return "", cli.Usage(err)
	}
	return name, nil
}

// Known reports whether there is such a model here, and what it needs. It asks
// nobody for a key.
func (m Models) Known(name string) bool {
	given := name
	name, err := m.choose(name)
	if err != nil {
		name, err = m.Resolve(given)
		at, _, _ := strings.Cut(name, "/")
		return err == nil && m.own.Any(at)
	}
	if script, ok := strings.CutPrefix(name, "replay/"); ok {
		_, err = replaymodel.Load(script)
	}
	return err == nil
}

// Get returns the model of a name as --model takes it.
func (m Models) Get(name string) (model.Model, error) {
	named := name != "" || len(m.named) > 0
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
	if !named && p.Keyless && !p.HasKey(m.getenv) { // a server of one's own, which has models of its own
		client, err := p.Client(p, m.by)
		if err != nil {
			return nil, err
		}
		rest = cmp.Or(p.FirstModel(p.BaseURL(m.getenv), client), rest)
		if err := m.allowed(at + "/" + rest); err != nil {
			return nil, err
		}
	}
	return m.withKey(rest, p, p)
}

// Own returns the model of a name for an agent that has its own key there. It returns false
// for an agent without one, which gets the model of all others.
func (m Models) Own(agent, name string) (model.Model, bool, error) {
	if name == "" {
		name = m.defaults()[0]
	}
	name, err := m.Resolve(name)
	if err != nil {
		return nil, false, nil // as for all others, who say why
	}
	at, rest, _ := strings.Cut(name, "/")
	p := m.own.Of(agent, at)
	if p == nil {
		return nil, false, nil
	}
	if err := m.allowed(name); err != nil {
		return nil, true, err
	}
	made, err := m.withKey(rest, m.provider(at), p)
	return made, true, err
}

// withKey returns a model of a provider, with the key of keyed.
func (m Models) withKey(name string, at, keyed *settings.Provider) (model.Model, error) {
	key, err := keyed.APIKey(context.Background(), m.by.Environ, m.getenv)
	if err != nil {
		return nil, fmt.Errorf("model %s/%s: %w", at.Name, name, err)
	}
	client, err := at.Client(keyed, m.by)
	if err != nil {
		return nil, err
	}
	base := at.BaseURL(m.getenv)
	api := at.API(name, base)
	if api != provider.Messages { // no other API has the mark of a long window
		name, _ = model.CutLong(name)
	}
	switch api {
	case provider.Messages:
		return anthropicmodel.New(name, &anthropicmodel.Options{Provider: at.Name, APIKey: key, BaseURL: base, HTTPClient: client}), nil
	case provider.Responses:
		return responsesmodel.New(name, &responsesmodel.Options{Provider: at.Name, KeyHeader: at.Header, APIKey: key, BaseURL: base, HTTPClient: client}), nil
	}
	return openaimodel.New(name, &openaimodel.Options{Provider: at.Name, KeyHeader: at.Header, APIKey: key, BaseURL: base, HTTPClient: client}), nil
}

// choose resolves a name, as Resolve does, and checks that what the model needs is set. The empty
// name means the first default whose key and address are set.
func (m Models) choose(name string) (string, error) {
	if name != "" {
		return m.usable(name)
	}
	var failed error
	for _, name := range m.defaults() {
		found, err := m.usable(name)
		if err == nil {
			return found, nil
		}
		failed = cmp.Or(failed, err)
	}
	return "", failed
}

// defaults returns the models of the empty name, at least one.
func (m Models) defaults() []string {
	if len(m.named) > 0 {
		return m.named
	}
	return []string{m.byKey()}
}

func (m Models) usable(name string) (string, error) {
	name, err := m.Resolve(name)
	if err != nil {
		return "", err
	}
	if err := m.allowed(name); err != nil {
		return "", err
	}
	at, _, _ := strings.Cut(name, "/")
	if name == settings.HostModel {
		return "", errors.New("model host: this command has no MCP host whose model it could use; 'worker mcp' has one, and so has 'worker serve' over MCP")
	}
	if p := m.provider(at); p != nil {
		if err := p.Usable(m.getenv); err != nil {
			return "", fmt.Errorf("model %s: %w", name, err)
		}
	}
	return name, nil
}

// allowed returns an error if a policy forbids a model, or to call where it is.
func (m Models) allowed(name string) error {
	name, _ = model.CutLong(name)
	if err := m.allows(policy.Models, name); err != nil {
		return err
	}
	at, _, _ := strings.Cut(name, "/")
	if p := m.provider(at); p != nil {
		return m.allowedAt(p)
	}
	return nil
}

// allowedAt returns an error if a policy forbids to call a provider where it is.
func (m Models) allowedAt(p *settings.Provider) error {
	address, err := url.Parse(p.BaseURL(m.getenv))
	if err != nil {
		return fmt.Errorf("the address of %s: %w", p.Name, err)
	}
	return m.allows(policy.Providers, address.Scheme+"://"+address.Host)
}

// byKey returns the default model for the keys that are set.
func (m Models) byKey() string {
	for _, row := range provider.Rows {
		if p := m.provider(row.Name); row.Default != "" && p != nil && p.Usable(m.getenv) == nil {
			return row.Name + "/" + row.Default
		}
	}
	return "offline"
}
