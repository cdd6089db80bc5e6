package caller

import (
	"context"

	"github.com/agentworker/worker/taskt/control"
)

// Control makes a call of an operation on any session of the workspace, as body
// says. by says who does it.
func (p *Pool) Control(ctx context.Context, op *control.Operation, body []byte, by By) (control.Answer, error) {
	scope := &control.Scope{Workspace: true, By: by.Text, As: by.Person}
	scope.Resume = func(ctx context.Context, r control.Resumption) (string, error) { return p.resume(ctx, r, by) }
	return p.tasks.Control().Do(ctx, scope, op, body)
}

// resume has a session that has ended go on, in a root session of its own, until it
// has ended or the door shuts.
func (p *Pool) resume(ctx context.Context, r control.Resumption, by By) (string, error) {
	call, err := p.Begin(context.WithoutCancel(ctx))
	if err != nil {
		return "", err
	}
	if _, err := call.Open(By{by.Text + " resumes " + r.Record.ID, by.Person}); err != nil {
		call.Done()
		return "", err
	}
	result, finish, err := call.finish(p.tasks.Resume(call.ctx, call.root, r))
	go func() { // the pool waits for it
		defer call.Done()
		finish()
	}()
	if err != nil {
		return "", err
	}
	return result.SessionID, result.Err
}
