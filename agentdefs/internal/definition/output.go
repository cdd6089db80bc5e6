package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// Bounds of an output schema. Its size is counted with each $ref replaced by
// what it refers to, so a schema that refers to itself has none.
const (
	maxOutputBytes = 32 << 10
	maxOutputSize  = 10_000 // values
)

// output returns the JSON Schema that results must satisfy. A value that is not
// a schema refuses the file: callers rely on the form of a result.
func (p *parser) output(e agentfile.Entry) json.RawMessage {
	const fix = "write a JSON Schema, as in output: {type: object, properties: {files: {type: array}}}"
	if e.Node == nil || agentfile.IsNull(e.Node) {
		p.Refuse(diag.OutputInvalid, e.Line, e.Column, fix, "%s cannot be read, so nothing of this file is served", e.Key)
		return nil
	}
	data, err := jsonOf(e.Node)
	if err == nil {
		err = checkOutput(data)
	}
	if err != nil {
		p.Refuse(diag.OutputInvalid, e.Line, e.Column, fix, "%s is not a JSON Schema that can be checked (%v), so nothing of this file is served", e.Key, err)
		return nil
	}
	return data
}

// checkOutput checks data as the schema of a result. Nothing is loaded from
// elsewhere.
func checkOutput(data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil { // a panic of the library must not end the program
			err = fmt.Errorf("%v", r)
		}
	}()
	if len(data) > maxOutputBytes {
		return fmt.Errorf("it is longer than %d KiB", maxOutputBytes>>10)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		return errors.New("it is not a mapping")
	}
	budget := maxOutputSize
	if err := expand(root, root, &budget, true); err != nil {
		return err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return err
	}
	if err := knownTypes(root); err != nil {
		return err
	}
	_, err = schema.Resolve(nil) // without a loader, it reads nothing remote
	return err
}

// expand walks v as a validator would, through references, until budget is
// spent.
func expand(v any, root map[string]any, budget *int, top bool) error {
	if *budget--; *budget < 0 {
		return errors.New("it refers to itself, or is too large once its references are followed")
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := expand(item, root, budget, false); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			_, text := item.(string)
			switch {
			case key == "$ref" && text:
				target, err := pointed(root, item.(string))
				if err != nil {
					return err
				}
				item = target
			case text && (key == "$dynamicRef" || key == "$recursiveRef" || key == "$id" && !top):
				return fmt.Errorf("%s is not supported", key)
			}
			if err := expand(item, root, budget, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// pointed returns the value of root that a reference within it points to.
func pointed(root map[string]any, ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' || strings.Contains(path, "%") {
		return nil, fmt.Errorf("the $ref %q is not of the form #/$defs/name", spelling.Short(ref))
	}
	var at any = root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		m, ok := at.(map[string]any)
		if at = m[unescapePointer.Replace(part)]; !ok || at == nil {
			return nil, fmt.Errorf("the $ref %q points to nothing", spelling.Short(ref))
		}
	}
	return at, nil
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// knownTypes refuses a type that JSON Schema does not have. The library would
// accept it, and no value.
func knownTypes(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := knownTypes(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			names, _ := item.([]any)
			if name, ok := item.(string); ok {
				names = []any{name}
			}
			switch key {
			case "enum", "const", "default", "examples", "dependentRequired", "dependencies":
				continue // values, not schemas
			case "type":
				for _, name := range names {
					if s, ok := name.(string); !ok || !slices.Contains(schemaTypes, s) {
						return fmt.Errorf("%v is no type; use %s", name, strings.Join(schemaTypes, ", "))
					}
				}
			}
			if err := knownTypes(item); err != nil {
				return err
			}
		}
	}
	return nil
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
