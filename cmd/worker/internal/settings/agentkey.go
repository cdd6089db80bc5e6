package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AgentKeys say where the API keys of agents come from that have some of their own, by
// AGENT/PROVIDER, with the agent's name in lower case. As a flag it takes one
// AGENT/PROVIDER=SOURCE at a time.
//
// Only checkAgentKeys reports what is wrong with one, and never shows the source: somebody may have
// written the key itself there.
type AgentKeys map[string]*Provider

// value returns the setting. It shows whose keys are set, and not where they come from.
func (k *AgentKeys) value() *value {
	set := func(pair string) error {
		whose, source, _ := strings.Cut(pair, "=")
		k.add(whose, source, "")
		return nil
	}
	return &value{
		kind: "AGENT/PROVIDER=SOURCE", set: set,
		show: func() string { return strings.Join(slices.Sorted(maps.Keys(*k)), ",") },
		env: func(list string) error { // pairs with commas between
			for pair := range strings.SplitSeq(list, ",") {
				if strings.TrimSpace(pair) != "" {
					_ = set(pair) // check reports what is wrong
				}
			}
			return nil
		},
		config: func(raw json.RawMessage, dir string) error {
			var object map[string]string
			if json.Unmarshal(raw, &object) != nil || object == nil {
				k.add("", "", "")
			}
			for whose, source := range object {
				k.add(whose, source, dir)
			}
			return nil
		},
	}
}

// keySources are the ways in which a source says where a key is.
var keySources = map[string]func(p *Provider, what, dir string) error{
	"env": func(p *Provider, what, _ string) error {
		if strings.ContainsFunc(what, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			return errors.New("the name of a variable has letters, digits and _ alone")
		}
		p.keyVariable = what
		return nil
	},
	"file": func(p *Provider, what, dir string) error {
		if dir != "" {
			what = below(dir, what)
		}
		return file(&p.keyFile).set(what)
	},
	"command": func(p *Provider, what, _ string) error {
		p.command = what
		return nil
	},
}

func (k *AgentKeys) add(whose, source, dir string) {
	whose = strings.TrimSpace(whose)
	at := strings.LastIndexByte(whose, '/')
	p := &Provider{}
	if at > 0 {
		p.agent, p.Name = strings.ToLower(whose[:at]), strings.ToLower(whose[at+1:])
	}
	how, what, _ := strings.Cut(strings.TrimSpace(source), ":")
	set := keySources[how]
	switch {
	case p.agent == "":
		p.wrong = errNoAgent
	case set == nil || what == "":
		p.wrong = errors.New("write where the key is, as env:VARIABLE, file:PATH or command:COMMAND, and never the key itself")
	default:
		p.wrong = set(p, what, dir)
	}
	if *k == nil {
		*k = AgentKeys{}
	}
	(*k)[p.agent+"/"+p.Name] = p
}

// errNoAgent tells how the key of an agent is named.
var errNoAgent = errors.New("write whose key it is as AGENT/PROVIDER, such as AGENT/anthropic or AGENT/openai")

// checkAgentKeys reports what is wrong with the keys of agents, in words that show no source.
func (s *Settings) checkAgentKeys() error {
	for _, whose := range slices.Sorted(maps.Keys(s.AgentKeys)) {
		p := s.AgentKeys[whose]
		if p.agent == "" {
			return fmt.Errorf("agent-key: %w", p.wrong) // the rest may be the key
		}
		if p.wrong != nil {
			return fmt.Errorf("agent-key %s: %w", whose, p.wrong)
		}
		if s.Provider(p.Name) == nil {
			return fmt.Errorf("agent-key %s: there is no provider %q: %w", whose, p.Name, errNoAgent)
		}
	}
	return nil
}

// Of returns the provider of a name as an agent uses it; nil means it has no key of its own
// there.
func (k AgentKeys) Of(agent, provider string) *Provider {
	return k[strings.ToLower(agent)+"/"+provider]
}

// Any reports whether some agent has a key of its own for a provider.
func (k AgentKeys) Any(provider string) bool {
	for _, p := range k {
		if p.Name == provider {
			return true
		}
	}
	return false
}

// Variables are those of the environment that hold keys of agents.
func (k AgentKeys) Variables() []string {
	var names []string
	for _, p := range k {
		if p.keyVariable != "" {
			names = append(names, p.keyVariable)
		}
	}
	return names
}
