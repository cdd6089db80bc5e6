package taskt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/internal/strictjson"
)

// acceptor returns what checks the answers of an agent whose result must
// satisfy a JSON Schema, and cuts the result out of them; nil where output is
// empty. Its errors are for the model to read.
func acceptor(output json.RawMessage) (func(answer string) (string, error), error) {
	if len(output) == 0 {
		return nil, nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(output, &schema); err != nil {
		return nil, fmt.Errorf("the agent's output schema: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the agent's output schema: %w", err)
	}
	return func(answer string) (string, error) {
		text, err := jsonOf(answer)
		if err != nil {
			return "", fmt.Errorf("the answer is not one JSON value: %w", err)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return "", fmt.Errorf("the answer can't be read: %w", err)
		}
		if err := validate(resolved, value); err != nil {
			return "", fmt.Errorf("the answer does not satisfy the output schema: %w", err)
		}
		return text, nil
	}, nil
}

// validate reports why value does not satisfy schema.
func validate(schema *jsonschema.Resolved, value any) (err error) {
	defer func() {
		if r := recover(); r != nil { // the library's own slips must not end the worker
			err = fmt.Errorf("%v", r)
		}
	}()
	return schema.Validate(value)
}

// jsonFence matches a code fence marked as JSON. No line of JSON within can
// look like its end.
var jsonFence = regexp.MustCompile("(?ims)^[ \t]*```[ \t]*json[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*\r?$")

// jsonOf returns the JSON value of an answer: all of it, or the content of its
// last ```json fence.
func jsonOf(answer string) (string, error) {
	text := strings.TrimSpace(answer)
	if text == "" {
		return "", errors.New("it is empty")
	}
	if fences := jsonFence.FindAllStringSubmatch(text, -1); len(fences) > 0 && !json.Valid([]byte(text)) {
		text = strings.TrimSpace(fences[len(fences)-1][1])
	}
	return text, strictjson.Check([]byte(text))
}

// compact returns a schema in one line, as it stands where it is not JSON.
func compact(schema json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return string(schema)
	}
	return out.String()
}
