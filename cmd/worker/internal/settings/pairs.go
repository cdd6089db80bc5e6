package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cutPair returns the name, in lower case, and the value of NAME=VALUE.
type cutPair func(pair string) (name, value string, err error)

// adding is a setting to which what the environment and the config file say is added.
type adding interface{ adds() }

func (ModelAliases) adds() {}
func (AgentValues) adds()  {}

// AgentValues are values by the names of agents, in lower case. As a flag it takes one
// AGENT=VALUE at a time.
type AgentValues map[string]string

// String implements [pflag.Value].
func (v AgentValues) String() string { return showPairs(v) }

// Type implements [pflag.Value].
func (v AgentValues) Type() string { return "AGENT=VALUE" }

// Set implements [pflag.Value].
func (v AgentValues) Set(pair string) error { return setPair(v, pair, cutAgent) }

func (v AgentValues) setEnv(list string) error { return addList(v, list, cutAgent) }

func (v AgentValues) setConfig(value json.RawMessage, _ string) error {
	return addObject(v, value, cutAgent)
}

func cutAgent(pair string) (agent, value string, err error) {
	agent, value, _ = strings.Cut(pair, "=")
	agent, value = strings.ToLower(strings.TrimSpace(agent)), strings.TrimSpace(value)
	if agent == "" || value == "" {
		return "", "", errors.New("write AGENT=VALUE, with the name of an agent")
	}
	return agent, value, nil
}

func showPairs(values map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, name+"="+values[name])
	}
	return strings.Join(pairs, ",")
}

func setPair(values map[string]string, pair string, cut cutPair) error {
	name, value, err := cut(pair)
	if err != nil {
		return err
	}
	if old, taken := values[name]; taken && old != value {
		return fmt.Errorf("%q is given twice, as %s and as %s", name, old, value)
	}
	values[name] = value
	return nil
}

// addList takes pairs with commas between. What is there stays.
func addList(values map[string]string, list string, cut cutPair) error {
	more := make(map[string]string)
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		if err := setPair(more, pair, cut); err != nil {
			return err
		}
	}
	addMissing(values, more)
	return nil
}

// addObject takes an object of names and values. What is there stays.
func addObject(values map[string]string, value json.RawMessage, cut cutPair) error {
	var object map[string]string
	if json.Unmarshal(value, &object) != nil || object == nil {
		return errors.New("write an object of names and values")
	}
	more := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := setPair(more, name+"="+object[name], cut); err != nil {
			return err
		}
	}
	addMissing(values, more)
	return nil
}

func addMissing(values, more map[string]string) {
	for name, value := range more {
		if _, taken := values[name]; !taken {
			values[name] = value
		}
	}
}
