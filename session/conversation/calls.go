package conversation

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/agentworker/worker/model"
)

// SameCall reports whether two calls are of one tool and have equal JSON arguments.
func SameCall(a, b model.ToolCall) bool {
	if a.Name != b.Name {
		return false
	}
	if strings.TrimSpace(a.Arguments) == strings.TrimSpace(b.Arguments) {
		return true
	}
	x, err := decodeValue(a.Arguments)
	if err != nil {
		return false
	}
	y, err := decodeValue(b.Arguments)
	return err == nil && reflect.DeepEqual(x, y)
}

// decodeValue reads a JSON value so that equal ones are deeply equal.
func decodeValue(text string) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value")
	}
	return plainNumbers(value), nil
}

// plainNumbers makes numbers comparable: 1, 1.0 and 1e0 become the same float64. Numbers that
// a float64 does not hold exactly stay as texts.
func plainNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if f, err := value.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return f
		}
		return value
	case []any:
		for i := range value {
			value[i] = plainNumbers(value[i])
		}
	case map[string]any:
		for k := range value {
			value[k] = plainNumbers(value[k])
		}
	}
	return value
}
