package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

// A client that names the Tasks extension with a call of an agent is answered with a
// task at once: the session of the subagent. What a task is at a moment is read from the
// store, so that it is there for a client that comes back, to whatever worker.

// pollInterval is how often a client should ask how a task is doing.
const pollInterval = time.Second

// addTasks serves the Tasks extension.
func (c *connection) addTasks(server *mcp.Server) {
	if c.sessions == nil {
		return
	}
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

// begun is what a call notes of the child that it has started for a client that takes a
// task in place of a result.
type begun struct{ child *child }

type begunKey struct{}

// begunBy returns where a call notes its child; nil means its client waits for a result.
func begunBy(ctx context.Context) *begun {
	b, _ := ctx.Value(begunKey{}).(*begun)
	return b
}

// asTask answers a call with a task if its client takes one, and the call has started a
// child that is not in the background. The child can be asked about by then.
func (c *connection) asTask(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params.RequestState != "" || !exttask.Declared(call.Params.Meta) {
			return next(ctx, method, req)
		}
		b := new(begun)
		res, err := next(context.WithValue(ctx, begunKey{}, b), method, req)
		if err != nil || b.child == nil {
			return res, err
		}
		r, err := c.sessions.Get(ctx, b.child.SessionID()) // a client may ask from now on
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			b.child.Cancel("the host has not got its task")
			return nil, err
		}
		return exttask.NewCreated(c.workingTask(r)), nil
	}
}

// asker is who asks about a task.
type asker struct {
	client *mcp.Implementation
	caps   *mcp.ClientCapabilities
}

func askerOf(req interface {
	ClientInfo() *mcp.Implementation
	ClientCapabilities() *mcp.ClientCapabilities
}) asker {
	return asker{req.ClientInfo(), req.ClientCapabilities()}
}

// taskOf returns the session of a task: one that a caller has started, whoever it was, or a
// primary agent. Its id is known to the client that was told it, and to who may read the store.
func (c *connection) taskOf(ctx context.Context, meta mcp.Meta, id string) (*store.Record, error) {
	if !exttask.Declared(meta) {
		return nil, exttask.ErrUndeclared
	}
	r, err := c.sessions.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) || err == nil && (r.ID != id || r.Depth != 1) {
		return nil, exttask.NotFound(id)
	}
	return r, err
}

// getTask is [exttask.Get].
func (c *connection) getTask(ctx context.Context, host *mcp.ServerSession, p *exttask.Params) (*exttask.State, error) {
	r, err := c.taskOf(ctx, p.Meta, p.TaskID)
	if err != nil {
		return nil, err
	}
	task, err := c.taskState(ctx, r, askerOf(&mcp.ServerRequest[*exttask.Params]{Session: host, Params: p}))
	if err != nil {
		return nil, err
	}
	return exttask.NewState(task), nil
}

// cancelTask is [exttask.Cancel]. What has ended stays as it is.
func (c *connection) cancelTask(ctx context.Context, _ *mcp.ServerSession, p *exttask.Params) (*exttask.Ack, error) {
	r, err := c.taskOf(ctx, p.Meta, p.TaskID)
	if err != nil {
		return nil, err
	}
	if child := c.exactly(r.ID); child != nil {
		child.Cancel("the host has cancelled the task")
		return exttask.NewAck(), nil
	}
	var over *store.EndedError
	if _, err := c.sessions.Stop(ctx, r.ID, c.identity.By("the MCP host")); err != nil && !errors.As(err, &over) {
		return nil, err
	}
	return exttask.NewAck(), nil
}

// exactly returns the child of an id that runs here; nil means none does.
func (c *connection) exactly(id string) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.children[id]
}

// workingTask is what is known of a task that has just begun.
func (c *connection) workingTask(r *store.Record) *exttask.Task {
	task := &exttask.Task{
		ID: r.ID, Status: exttask.Working, PollInterval: pollInterval.Milliseconds(),
		CreatedAt: r.CreatedAt, LastUpdatedAt: cmp.Or(r.EndedAt, r.StartedAt, r.CreatedAt),
	}
	if c.kept > 0 {
		until := r.EndedAt
		if !r.Status.Ended() {
			until = time.Now()
		}
		ttl := (max(0, until.Sub(r.CreatedAt)) + c.kept).Milliseconds()
		task.TTL = &ttl
	}
	return task
}

// taskState is a session as a task. Its client is asked what it can answer.
func (c *connection) taskState(ctx context.Context, r *store.Record, by asker) (*exttask.Task, error) {
	task := c.workingTask(r)
	switch r.Status {
	case store.Queued, store.Running, store.WaitingApproval:
		return task, c.askFor(ctx, task, by)
	case store.Cancelled:
		task.Status, task.StatusMessage = exttask.Cancelled, termtext.OneLine(r.Error, maxMessage)
		return task, nil
	case store.Interrupted: // nobody was left to answer the call
		task.Status, task.StatusMessage = exttask.Failed, termtext.OneLine(r.Error, maxMessage)
		task.Error = &exttask.Error{Code: jsonrpc.CodeInternalError, Message: cmp.Or(task.StatusMessage, "the worker that ran it has gone")}
		return task, nil
	}
	result, err := c.tasks.Control().ResultOf(ctx, r)
	if err != nil {
		return nil, err
	}
	task.Status = exttask.Completed
	if result.Err != nil {
		task.StatusMessage = termtext.OneLine(r.Error, maxMessage)
	}
	task.Result, err = exttask.ResultOf(taskResult(result, c.host(by.client).Text))
	return task, err
}
