package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// maxJSONDepth bounds how deep a value that becomes JSON may nest.
const maxJSONDepth = 64

// jsonOf returns the value n as JSON, in the order of the file. Values that
// JSON does not have, such as .nan, are errors, and a date is a text.
func jsonOf(n *yaml.Node) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, n, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, n *yaml.Node, depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("it is nested more than %d deep", maxJSONDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		seen := map[string]bool{}
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || seen[key.Value] {
				return fmt.Errorf("line %d: %q is not text, or there twice", key.Line, spelling.Short(key.Value))
			}
			seen[key.Value] = true
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeValue(b, key.Value); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := writeJSON(b, value, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, item, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return writeScalar(b, n)
	}
	return errors.New("it holds an alias")
}

func writeScalar(b *bytes.Buffer, n *yaml.Node) error {
	var v any
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return writeValue(b, n.Value)
	case "!!null":
		return writeValue(b, nil)
	case "!!bool", "!!int", "!!float":
		if err := n.Decode(&v); err != nil {
			return fmt.Errorf("line %d: %q cannot be read", n.Line, spelling.Short(n.Value))
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return fmt.Errorf("line %d: %s is not a JSON number", n.Line, spelling.Short(n.Value))
		}
		return writeValue(b, v)
	default:
		return fmt.Errorf("line %d: a value is %s", n.Line, spelling.Short(tag))
	}
}

// writeValue writes v without what encoding/json adds for web pages.
func writeValue(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the line end
	return nil
}
