package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/session/store"
)

// Control makes the operations. It is safe for concurrent use.
type Control struct{ store *store.Store }

// New returns a Control of the sessions of a workspace.
func New(store *store.Store) *Control { return &Control{store} }

// Answer is what an operation has found or done. Its JSON is what programs get.
type Answer interface {
	// Answer is the same as a model reads it.
	Answer() string
}

// input is the arguments of an operation, which the JSON of a call is read into.
type input interface {
	Check() error
	Sessions() []string // the ids that the call names
	do(ctx context.Context, c *Control, scope *Scope) (Answer, error)
}

// InputError is the error of arguments that an operation does not take.
type InputError struct {
	Operation string
	Err       error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("the arguments of %s: %v", e.Operation, e.Err)
}
func (e *InputError) Unwrap() error { return e.Err }

// Do makes a call of an operation in the name of a caller. args is a JSON object;
// none is an empty one. Arguments that the operation does not take are an
// [*InputError]; a session that the caller does not reach is
// [record.ErrNotFound].
func (c *Control) Do(ctx context.Context, scope *Scope, op *Operation, args json.RawMessage) (Answer, error) {
	in, err := op.read(args)
	if err != nil {
		return nil, err
	}
	return in.do(ctx, c, scope)
}

// read reads the arguments of a call.
func (op *Operation) read(args json.RawMessage) (input, error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	in := op.input()
	err := strictjson.Decode(args, in)
	if err == nil {
		err = in.Check()
	}
	if err != nil {
		return nil, &InputError{op.Name, err}
	}
	return in, nil
}
