package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/session/record"
)

// add serves the extension with a server.
func (c *taskExtension) add(server *mcp.Server) {
	err := errors.Join(
		mcp.AddReceivingCustomMethod(server, exttask.Get, withParams(c.getTask)),
		mcp.AddReceivingCustomMethod(server, exttask.Update, withParams(c.updateTask)),
		mcp.AddReceivingCustomMethod(server, exttask.Cancel, withParams(c.cancelTask)),
	)
	if err != nil {
		panic(err) // the methods are none of the SDK's
	}
	server.AddReceivingMiddleware(c.asTask, c.listenToTasks)
	server.AddSendingMiddleware(c.sender.Middleware)
}

// withParams is a handler that always gets params: a request may have none.
func withParams[P, R any](handle func(context.Context, *mcp.ServerSession, *P) (R, error)) func(context.Context, *mcp.ServerSession, *P) (R, error) {
	return func(ctx context.Context, host *mcp.ServerSession, p *P) (R, error) {
		if p == nil {
			p = new(P)
		}
		return handle(ctx, host, p)
	}
}

// asTask answers a call with a task if its client takes one, and the call has started a
// child that is not in the background. The child can be asked about by then.
func (c *taskExtension) asTask(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params.RequestState != "" || !exttask.Declared(call.Params.Meta) {
			return next(ctx, method, req)
		}
		s := new(started)
		res, err := next(context.WithValue(ctx, startedKey{}, s), method, req)
		if err != nil || s.child == nil {
			return res, err
		}
		r, err := c.opts.Sessions.Index.Get(ctx, s.child.SessionID()) // a client may ask from now on
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			s.child.Cancel("the host has not got its task")
			return nil, err
		}
		return exttask.NewCreated(c.workingTask(r)), nil
	}
}

// getTask is [exttask.Get].
func (c *taskExtension) getTask(ctx context.Context, host *mcp.ServerSession, p *exttask.Params) (*exttask.State, error) {
	r, err := c.taskOf(ctx, p.Meta, p.TaskID)
	if err != nil {
		return nil, err
	}
	task, err := c.taskState(ctx, r, c.peerOf(&mcp.ServerRequest[*exttask.Params]{Session: host, Params: p}))
	if err != nil {
		return nil, err
	}
	return exttask.NewState(task), nil
}

// cancelTask is [exttask.Cancel]. It has no effect on an ended task.
func (c *taskExtension) cancelTask(ctx context.Context, _ *mcp.ServerSession, p *exttask.Params) (*exttask.Ack, error) {
	r, err := c.taskOf(ctx, p.Meta, p.TaskID)
	if err != nil {
		return nil, err
	}
	if child := c.children.get(r.ID); child != nil {
		child.Cancel("the host has cancelled the task")
		return exttask.NewAck(), nil
	}
	var over *record.EndedError
	if _, err := c.opts.Sessions.Recovery.Stop(ctx, r.ID, c.root.identity.By("the MCP host")); err != nil && !errors.As(err, &over) {
		return nil, err
	}
	return exttask.NewAck(), nil
}

// updateTask is [exttask.Update]. Answers to what is not asked are passed over.
func (c *taskExtension) updateTask(ctx context.Context, host *mcp.ServerSession, p *exttask.UpdateParams) (*exttask.Ack, error) {
	r, err := c.taskOf(ctx, p.Meta, p.TaskID)
	if err != nil {
		return nil, err
	}
	if len(p.InputResponses) == 0 || r.Status.Ended() {
		return exttask.NewAck(), nil
	}
	questions, err := c.questionsOf(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	by := c.peerOf(&mcp.ServerRequest[*exttask.UpdateParams]{Session: host, Params: p})
	for _, q := range questions {
		response, was, err := c.receiveResponse(q, p)
		if err != nil {
			return nil, err
		}
		if response == nil {
			continue
		}
		became := q.answer(ctx, response, nil, by, time.Since(was.shown))
		if became == again && was.n < maxHasty {
			c.putAgain(q.id, was.n+1)
		}
	}
	return exttask.NewAck(), nil
}
