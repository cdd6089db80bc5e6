package caller

import (
	"context"

	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// Control makes a call of an operation on any session of the workspace, as body
// says. by says to people who does it.
func Control(ctx context.Context, tasks *taskt.Service, op *control.Operation, body []byte, by string) (control.Answer, error) {
	return tasks.Control().Do(ctx, &control.Scope{Workspace: true, By: by}, op, body)
}
