package hookconfig

import (
	"encoding/json"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Happens reports whether the event of a key in a file happens here.
func Happens(key string) bool {
	_, _, ok := eventOf(key)
	return ok
}

// ParseAgent reads the field hooks of an agent file, in the form of [Parse]. The hooks lack the
// file, which the caller knows.
func ParseAgent(node *yaml.Node) ([]*Hook, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errShape
	}
	var hooks list
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, groups := node.Content[i].Value, any(nil)
		if err := node.Content[i+1].Decode(&groups); err != nil {
			return nil, fmt.Errorf("hooks.%s: %w", key, err)
		}
		text, err := json.Marshal(groups)
		if err != nil {
			return nil, fmt.Errorf("hooks.%s: a name in it is no text", key)
		}
		if err := hooks.add(key, text); err != nil {
			return nil, err
		}
	}
	lines := map[string][]int{}
	linesOf(node, lines)
	for _, h := range hooks {
		h.Agent, h.Line = true, node.Line
		key := h.Command + h.URL
		if at := lines[key]; len(at) > 0 {
			h.Line, lines[key] = at[0], at[1:]
		}
	}
	return hooks, nil
}

// linesOf adds the lines of the texts of a node, in their order.
func linesOf(node *yaml.Node, lines map[string][]int) {
	if node.Kind == yaml.ScalarNode {
		lines[node.Value] = append(lines[node.Value], node.Line)
	}
	for _, n := range node.Content { // an alias has none: its text stays at the field's line
		linesOf(n, lines)
	}
}
