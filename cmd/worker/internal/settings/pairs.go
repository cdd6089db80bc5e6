package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pairs returns a setting of names, in lower case, and values. As a flag it takes one
// NAME=VALUE at a time, which cut reads; the variable has commas between pairs, and the key in
// the config file is an object. What is set stays: the variable and the key add to it.
func pairs(to map[string]string, kind string, cut func(pair string) (name, value string, err error)) *value {
	set := func(to map[string]string, pair string) error {
		name, value, err := cut(pair)
		if err != nil {
			return err
		}
		if old, known := to[name]; known && old != value {
			return fmt.Errorf("%q is given twice, as %s and as %s", name, old, value)
		}
		to[name] = value
		return nil
	}
	add := func(list []string) error {
		more := make(map[string]string)
		for _, pair := range list {
			if err := set(more, pair); err != nil {
				return err
			}
		}
		maps.Copy(more, to)
		maps.Copy(to, more)
		return nil
	}
	return &value{
		kind: kind, adds: true,
		show: func() string { return strings.Join(pairTexts(to), ",") },
		set:  func(pair string) error { return set(to, pair) },
		env: func(list string) error {
			return add(slices.DeleteFunc(strings.Split(list, ","), func(pair string) bool { return strings.TrimSpace(pair) == "" }))
		},
		config: func(raw json.RawMessage, _ string) error {
			var object map[string]string
			if json.Unmarshal(raw, &object) != nil || object == nil {
				return errors.New("write an object of names and values")
			}
			return add(pairTexts(object))
		},
	}
}

func pairTexts(values map[string]string) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, name+"="+values[name])
	}
	return texts
}

// agentValues returns a setting of values by the names of agents.
func agentValues(to map[string]string) *value {
	return pairs(to, "AGENT=VALUE", func(pair string) (agent, value string, err error) {
		agent, value, _ = strings.Cut(pair, "=")
		agent, value = strings.ToLower(strings.TrimSpace(agent)), strings.TrimSpace(value)
		if agent == "" || value == "" {
			return "", "", errors.New("write AGENT=VALUE, with the name of an agent")
		}
		return agent, value, nil
	})
}
