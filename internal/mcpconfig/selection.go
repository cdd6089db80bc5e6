package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Selection is what an agent file says of servers. A nil one says nothing: the agent has
// all that are configured.
type Selection struct {
	Names  []string  // of configured servers
	Inline []*Server // written in the file itself

	All bool      // the file says nothing: see [Selection.With]
	Own []*Server // that the person whose session it is has brought; they come before the configured ones
}

// With returns the selection where a person has brought servers for a session.
func (s *Selection) With(own []*Server) *Selection {
	if len(own) == 0 {
		return s
	}
	if s == nil {
		s = &Selection{All: true}
	}
	made := *s
	made.Own = own
	return &made
}

// Has reports whether the selection has a server of the name.
func (s *Selection) Has(name string) bool {
	return s == nil || s.All || slices.Contains(s.Names, name) || slices.ContainsFunc(s.Inline, func(i *Server) bool { return i.Name == name })
}

// Select reads the field of an agent file: a list of names and of {name: server}, an object
// of servers, or a text of names with commas between. What can't be read is in the error.
func Select(node *yaml.Node) (*Selection, error) {
	s := &Selection{}
	var errs []error
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			errs = append(errs, s.add(item))
		}
	case yaml.MappingNode, yaml.ScalarNode:
		errs = append(errs, s.add(node))
	default:
		errs = append(errs, errors.New("want a list of MCP servers"))
	}
	return s, errors.Join(errs...)
}

// add adds names, or an object of servers.
func (s *Selection) add(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		for name := range strings.SplitSeq(node.Value, ",") {
			if name = strings.TrimSpace(name); name != "" && node.Tag != "!!null" {
				s.Names = append(s.Names, name)
			}
		}
		return nil
	case yaml.MappingNode:
	default:
		return fmt.Errorf("line %d: write the name of a server, or {name: server}", node.Line)
	}
	var errs []error
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, node.Content[i+1]
		if value.Kind != yaml.MappingNode { // "github:" without a value names a configured one
			s.Names = append(s.Names, name)
			continue
		}
		made, err := inline(name, value)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		made.Line = node.Content[i].Line
		s.Inline = append(s.Inline, made)
	}
	return errors.Join(errs...)
}

// inline reads a server that is written in an agent file.
func inline(name string, node *yaml.Node) (*Server, error) {
	var value any
	if err := node.Decode(&value); err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w", name, err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s has a key that is no text", name)
	}
	form := Own
	form.Syntax = dollars // Copilot's and Gemini's, which write them into agent files
	return decode(name, raw, &form)
}
