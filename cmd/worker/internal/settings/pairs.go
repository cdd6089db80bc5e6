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
// the config file is an object. What is set stays: the variable and the key add to it. ofLists says
// that a value may be a list: in the variable with commas between, in the config file as one.
func pairs(to map[string]string, kind string, ofLists bool, cut func(pair string) (name, value string, err error)) *value {
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
			return add(splitPairs(list, ofLists))
		},
		config: func(raw json.RawMessage, _ string) error {
			object, err := readPairs(raw, ofLists)
			if err != nil {
				return err
			}
			return add(pairTexts(object))
		},
	}
}

// splitPairs splits a list at its commas. Where values are lists, a part without "=" belongs to the pair
// before it.
func splitPairs(list string, ofLists bool) (pairs []string) {
	for part := range strings.SplitSeq(list, ",") {
		switch {
		case strings.TrimSpace(part) == "":
		case ofLists && len(pairs) > 0 && !strings.Contains(part, "="):
			pairs[len(pairs)-1] += "," + part
		default:
			pairs = append(pairs, part)
		}
	}
	return pairs
}

// readPairs reads an object of names and values.
func readPairs(raw json.RawMessage, ofLists bool) (map[string]string, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return nil, errors.New("write an object of names and values")
	}
	read := make(map[string]string)
	for name, value := range object {
		list, err := texts(value)
		if err != nil || len(list) != 1 && !ofLists {
			return nil, errors.New("write an object of names and values")
		}
		read[name] = strings.Join(list, ",")
	}
	return read, nil
}

func pairTexts(values map[string]string) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		texts = append(texts, name+"="+values[name])
	}
	return texts
}

// agentValues returns a setting of values by the names of agents.
func agentValues(to map[string]string, ofLists bool) *value {
	return pairs(to, "AGENT=VALUE", ofLists, func(pair string) (agent, value string, err error) {
		agent, value, _ = strings.Cut(pair, "=")
		agent, value = strings.ToLower(strings.TrimSpace(agent)), strings.TrimSpace(value)
		if agent == "" || value == "" {
			return "", "", errors.New("write AGENT=VALUE, with the name of an agent")
		}
		return agent, value, nil
	})
}
