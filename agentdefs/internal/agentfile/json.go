package agentfile

import (
	"encoding/json"
	"errors"
	"sort"
	"strings"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

var errNoObject = errors.New("it is not a JSON object")

// JSON is the syntax of a JSON object. Its names keep their order, and duplicates stay.
func JSON(text string) (*yaml.Node, error) {
	if !json.Valid([]byte(text)) { // said in the library's words
		var v any
		return nil, json.Unmarshal([]byte(text), &v)
	}
	root, err := JSONC(text)
	if err == nil && root.Kind != yaml.MappingNode {
		return nil, errNoObject
	}
	return root, err
}

// JSONC is the syntax of a JSON document that may have comments.
func JSONC(text string) (*yaml.Node, error) {
	text = strings.TrimPrefix(text, "\uFEFF")
	v, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	lines := []int{0}
	for i, c := range []byte(text) {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return (&jsonReader{lines}).node(&v), nil
}

type jsonReader struct{ lines []int } // where they begin

func (r *jsonReader) node(v *hujson.Value) *yaml.Node {
	line := sort.SearchInts(r.lines, v.StartOffset+1)
	n := &yaml.Node{Line: line, Column: v.StartOffset - r.lines[line-1] + 1}
	switch v := v.Value.(type) {
	case *hujson.Object:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for i := range v.Members {
			n.Content = append(n.Content, r.node(&v.Members[i].Name), r.node(&v.Members[i].Value))
		}
	case *hujson.Array:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for i := range v.Elements {
			n.Content = append(n.Content, r.node(&v.Elements[i]))
		}
	case hujson.Literal:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!str", string(v)
		switch v.Kind() {
		case '"':
			n.Value = v.String()
		case 't', 'f':
			n.Tag = "!!bool"
		case 'n':
			n.Tag = "!!null"
		default:
			n.Tag = "!!float"
		}
	}
	return n
}
