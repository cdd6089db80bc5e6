package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/permission"
)

// function is a tool whose arguments are an A. Its schema is made from A. Prepare
// decodes the arguments once, so what the gate decides about is what runs. Errors don't
// name the tool: its caller does.
type function[A any] struct {
	spec     Spec
	values   func(args A) ([]permission.Value, error)
	describe func(call *Call, args A) Description
	run      func(ctx context.Context, call *Call, args A) (Result, error)
}

var _ Preparer = (*function[struct{}])(nil)

// Spec implements [Tool].
func (f *function[A]) Spec() Spec { return f.spec }

// Values implements [Tool].
func (f *function[A]) Values(raw json.RawMessage) ([]permission.Value, error) {
	call, err := f.Prepare(raw)
	if err != nil {
		return nil, err
	}
	return call.Values()
}

// Describe implements [Tool].
func (f *function[A]) Describe(call *Call) Description {
	var args A
	if strictjson.Decode(call.Args, &args) != nil {
		return DescribeArguments("call "+f.spec.Name, call.Args)
	}
	return f.describe(call, args)
}

// Run implements [Tool].
func (f *function[A]) Run(ctx context.Context, call *Call) (Result, error) {
	prepared, err := f.Prepare(call.Args)
	if err != nil {
		return Result{}, err
	}
	return prepared.Run(ctx, call)
}

// Prepare implements [Preparer].
func (f *function[A]) Prepare(raw json.RawMessage) (Prepared, error) {
	c := &functionCall[A]{f: f}
	if err := strictjson.Decode(raw, &c.args); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	c.missing = checkRequired(raw, reflect.TypeFor[A]()) // what it may do can be told all the same
	return c, nil
}

// checkRequired returns an error if an object lacks a key that the schema of a struct requires,
// or has null there. A call that was cut off must not empty a file.
func checkRequired(raw json.RawMessage, of reflect.Type) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return err
	}
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			continue
		}
		if value, ok := given[name]; !ok || string(value) == "null" {
			return fmt.Errorf("the key %q is missing", name)
		}
	}
	for field := range of.Fields() {
		if err := checkItems(given, field); err != nil {
			return err
		}
	}
	return nil
}

// checkItems is checkRequired for the objects of a list.
func checkItems(given map[string]json.RawMessage, list reflect.StructField) error {
	name, _, _ := strings.Cut(list.Tag.Get("json"), ",")
	if list.Type.Kind() != reflect.Slice || list.Type.Elem().Kind() != reflect.Struct || given[name] == nil {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(given[name], &items); err != nil {
		return err
	}
	for i, item := range items {
		if err := checkRequired(item, list.Type.Elem()); err != nil {
			return fmt.Errorf("%s, item %d: %w", name, i+1, err)
		}
	}
	return nil
}

// functionCall is a call of a function.
type functionCall[A any] struct {
	f       *function[A]
	args    A
	missing error // nil means that no argument is
}

// Values implements [Prepared].
func (c *functionCall[A]) Values() ([]permission.Value, error) {
	values, err := c.f.values(c.args)
	if err == nil && len(values) == 0 {
		err = errors.New("nothing that permissions could judge")
	}
	return values, err
}

// Run implements [Prepared].
func (c *functionCall[A]) Run(ctx context.Context, call *Call) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("not begun: %w", context.Cause(ctx))
	}
	if c.missing != nil {
		return Result{}, fmt.Errorf("arguments: %w", c.missing)
	}
	result, err := c.f.run(ctx, call, c.args)
	if err != nil {
		return Result{}, err
	}
	result.Text = strings.ToValidUTF8(result.Text, "\uFFFD")
	return result, nil
}

// allowNull lets what an object may leave out be null, and does so for the objects in its lists.
func allowNull(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) && p.Type != "" { // else it may be null already
			p.Types, p.Type = []string{p.Type, "null"}, ""
		}
		if p.Items != nil {
			allowNull(p.Items)
		}
	}
}

// schemaFor returns the JSON Schema of the argument struct A: an object with no
// other properties, in which what may be left out may also be null. It panics
// if A has a field that JSON Schema cannot describe.
func schemaFor[A any]() json.RawMessage {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic(err)
	}
	allowNull(s)
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}
