package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/permission"
)

// Builtin returns the built-in tools, which work in ws.
func Builtin(ws *Workspace) []Tool {
	return []Tool{
		readFile(ws),
		writeFile(ws),
		editFile(ws),
		listDir(ws),
		globFiles(ws),
		grepFiles(ws),
		shellExec(ws),
	}
}

// function is a tool whose arguments are an A. The schema is made from A, and
// Values and Run decode what they are given in the same way, so the gate judges
// what is run.
type function[A any] struct {
	spec   Spec
	values func(args A) ([]permission.Value, error)
	run    func(ctx context.Context, call *Call, args A) (Result, error)
}

var _ Tool = (*function[struct{}])(nil)

// Spec implements [Tool].
func (f *function[A]) Spec() Spec { return f.spec }

// Values implements [Tool].
func (f *function[A]) Values(raw json.RawMessage) ([]permission.Value, error) {
	args, err := f.decode(raw)
	if err != nil {
		return nil, err
	}
	values, err := f.values(args)
	if err == nil && len(values) == 0 {
		err = fmt.Errorf("%s: nothing that permissions could judge", f.spec.Name)
	}
	return values, err
}

// Run implements [Tool].
func (f *function[A]) Run(ctx context.Context, call *Call) (Result, error) {
	args, err := f.decode(call.Args)
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("%s: not begun: %w", f.spec.Name, context.Cause(ctx))
	}
	result, err := f.run(ctx, call, args)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", f.spec.Name, err)
	}
	result.Text = strings.ToValidUTF8(result.Text, "\uFFFD")
	return result, nil
}

func (f *function[A]) decode(raw json.RawMessage) (A, error) {
	var args A
	if err := DecodeArgs(raw, &args); err != nil {
		return args, fmt.Errorf("%s: arguments: %w", f.spec.Name, err)
	}
	return args, nil
}

// schemaFor returns the JSON Schema of the argument struct A: an object with no
// other properties, in which what may be left out may also be null. It panics
// if A has a field that JSON Schema cannot describe.
func schemaFor[A any]() json.RawMessage {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		panic(err)
	}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			p.Types, p.Type = []string{p.Type, "null"}, ""
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}
