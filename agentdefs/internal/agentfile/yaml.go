package agentfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decodeYAML parses text as one YAML document that is a mapping. Aliases are
// left as they are, so nothing can grow.
func decodeYAML(text string) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // a panic of the library must not end the program
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNoMapping
	}
	return doc.Content[0], nil
}

var errNoMapping = errors.New("it is not a list of name: value lines")

// shift moves n and all in it by lines and columns.
func shift(n *yaml.Node, lines, columns int) {
	n.Line += lines
	n.Column += columns
	for _, c := range n.Content {
		shift(c, lines, columns)
	}
}

// hasAlias reports whether n refers to another part of the document.
func hasAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if hasAlias(c) {
			return true
		}
	}
	return false
}

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func yamlLine(err error) int {
	if m := yamlPrefix.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 1
}

func yamlMessage(err error) string {
	s := err.Error()
	return s[len(yamlPrefix.FindString(s)):]
}

func IsNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// IsTagged reports whether a tag inside of n gives a value another meaning than
// its text has.
func IsTagged(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle != 0 {
		return true
	}
	for _, c := range n.Content {
		if IsTagged(c) {
			return true
		}
	}
	return false
}
