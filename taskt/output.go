package taskt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
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
	if err = schema.Validate(value); err != nil { // the library has no word for null
		err = errors.New(strings.ReplaceAll(err.Error(), "<invalid reflect.Value>", "null"))
	}
	return err
}

// fence matches a code fence, marked or not. No line of JSON within can look like its end.
var fence = regexp.MustCompile("(?ms)^[ \t]*(?:```[^`\r\n]*\r?\n(.*?)^[ \t]*```|~~~[^\r\n]*\r?\n(.*?)^[ \t]*~~~)[ \t]*\r?$")

// jsonOf returns the JSON value of an answer: all of it, the content of its last code fence that
// is JSON, or the only object in it.
func jsonOf(answer string) (string, error) {
	text := strings.TrimPrefix(strings.TrimSpace(answer), "\uFEFF")
	if text == "" {
		return "", errors.New("it is empty")
	}
	if json.Valid([]byte(text)) {
		return text, strictjson.Check([]byte(text))
	}
	for _, m := range slices.Backward(fence.FindAllStringSubmatch(text, -1)) {
		if inner := strings.TrimSpace(m[1] + m[2]); json.Valid([]byte(inner)) {
			return inner, strictjson.Check([]byte(inner))
		}
	}
	if object := onlyObject(text); object != "" {
		return object, strictjson.Check([]byte(object))
	}
	return text, strictjson.Check([]byte(text))
}

// onlyObject returns the JSON object that stands in a text, or the list where there is no object, if
// there is one alone.
func onlyObject(text string) string {
	var objects, lists []string
	for at := strings.IndexAny(text, "{["); at >= 0; at = strings.IndexAny(text, "{[") {
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case errors.Is(err, io.ErrUnexpectedEOF): // it is cut off
			return ""
		case err != nil:
			text = text[at+1:]
			continue
		case value[0] == '{':
			objects = append(objects, string(value))
		default:
			lists = append(lists, string(value))
		}
		text = text[at+int(dec.InputOffset()):]
	}
	if len(objects) == 0 {
		objects = lists
	}
	if len(objects) != 1 {
		return ""
	}
	return objects[0]
}

// compact returns a schema in one line, as it stands where it is not JSON.
func compact(schema json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, schema) != nil {
		return string(schema)
	}
	return out.String()
}
