package tool

import (
	"context"
	"encoding/json"

	"github.com/agentworker/worker/permission"
)

// Prepared is one call of a tool whose arguments have been read: what is judged
// is what runs. Its methods are called one after the other.
type Prepared interface {
	// Values is [Tool.Values] for the call. A call that has waited for an answer
	// is asked again, for what it wants by then.
	Values() ([]permission.Value, error)

	// Run is [Tool.Run] for the call, as Values had it last.
	Run(ctx context.Context, call *Call) (Result, error)
}

// Beginner is a prepared call, of a tool that [Spec.Delegates], that waits long
// while it runs, as many do at once. Where nobody has to be asked about it, Begin
// is called before Run, and does what comes before the wait: Run then has a
// goroutine of its own whose stack stays small.
type Beginner interface {
	Prepared

	// Begin does not wait. What goes wrong, Run returns.
	Begin(ctx context.Context, call *Call)
}

// Preparer is a tool that reads the arguments of a call once. Its Values and Run
// do what those of the prepared call do.
type Preparer interface {
	Tool

	// Prepare reads arguments. An error refuses the call.
	Prepare(args json.RawMessage) (Prepared, error)
}

// Prepare returns the call of t with these arguments.
func Prepare(t Tool, args json.RawMessage) (Prepared, error) {
	if p, ok := t.(Preparer); ok {
		return p.Prepare(args)
	}
	return plain{t, args}, nil
}

// plain is a call of a tool that reads its arguments in both methods.
type plain struct {
	tool Tool
	args json.RawMessage
}

func (p plain) Values() ([]permission.Value, error)                 { return p.tool.Values(p.args) }
func (p plain) Run(ctx context.Context, call *Call) (Result, error) { return p.tool.Run(ctx, call) }
