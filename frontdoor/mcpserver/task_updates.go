package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
)

// taskState is a session as a task. Its client is asked what it can answer.
func (c *taskExtension) taskState(ctx context.Context, r *record.Record, by peer) (*exttask.Task, error) {
	task := c.workingTask(r)
	switch r.Status {
	case record.Queued, record.Running, record.WaitingApproval:
		return task, c.askFor(ctx, task, by)
	case record.Cancelled:
		task.Status, task.StatusMessage = exttask.Cancelled, termtext.OneLine(r.Error, termtext.MaxMessage)
		return task, nil
	case record.Interrupted: // nobody was left to answer the call
		task.Status, task.StatusMessage = exttask.Failed, termtext.OneLine(r.Error, termtext.MaxMessage)
		task.Error = &exttask.Error{Code: jsonrpc.CodeInternalError, Message: cmp.Or(task.StatusMessage, "the worker that ran it has gone")}
		return task, nil
	}
	result, err := c.opts.Tasks.Control().ResultOf(ctx, r)
	if err != nil {
		return nil, err
	}
	task.Status = exttask.Completed
	if result.Err != nil {
		task.StatusMessage = termtext.OneLine(r.Error, termtext.MaxMessage)
	}
	task.Result, err = exttask.ResultOf(toolcall.Result(result, by.Text))
	return task, err
}

// listenToTasks adds to a subscription the tasks that its client wants to hear of: how
// each is doing now, and each change until it has ended.
func (c *taskExtension) listenToTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		listen, ok := req.(*mcp.SubscriptionsListenRequest)
		if !ok || len(exttask.Asked(listen.Params.Meta)) == 0 {
			return next(ctx, method, req)
		}
		records, err := c.tasksOf(ctx, listen.Params.Meta)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		ctx, l := exttask.NewListening(ctx, slices.Sorted(maps.Keys(records)))
		var watching sync.WaitGroup
		for _, r := range records {
			watching.Go(func() { c.watchTask(ctx, listen, l, r) })
		}
		res, err := next(ctx, method, req)
		if err == nil && len(records) > 0 { // the SDK knows of nothing to wait for
			<-ctx.Done()
		}
		cancel()
		watching.Wait()
		return res, err
	}
}

// tasksOf returns the sessions of the tasks that a subscription asks about. It leaves out
// ids without a task.
func (c *taskExtension) tasksOf(ctx context.Context, meta mcp.Meta) (map[string]*record.Record, error) {
	records := make(map[string]*record.Record)
	for _, id := range exttask.Asked(meta) {
		r, err := c.taskOf(ctx, meta, id)
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code == jsonrpc.CodeInvalidParams {
			continue
		}
		if err != nil {
			return nil, err
		}
		records[id] = r
	}
	return records, nil
}

// watchTask tells the client of a subscription how a task is doing, until it has ended.
func (c *taskExtension) watchTask(ctx context.Context, listen *mcp.SubscriptionsListenRequest, l *exttask.Listening, r *record.Record) {
	select {
	case <-l.Started():
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	_, stream, err := c.opts.Sessions.Approvals.FollowNew(ctx, r.Path)
	if err != nil {
		c.opts.Logger.Warn("following a task", "session", r.ID, "err", err)
		return
	}
	following.Go(func() {
		for d, err := range stream {
			if err != nil {
				return
			}
			if _, ev, err := d.Event(); err == nil && changesTask(ev) {
				select {
				case changed <- struct{}{}:
				default: // one is there already
				}
			}
		}
	})
	for last := ""; ; {
		askAgain, heard := c.newsOf(r.ID)
		now, err := c.opts.Sessions.Index.Get(ctx, r.ID)
		var task *exttask.Task
		if err == nil {
			task, err = c.taskState(ctx, now, c.peerOf(listen))
		}
		if err == nil && summary(task) != last {
			last = summary(task)
			err = c.sender.Notify(ctx, listen.Session, l, task)
		}
		if err != nil || task.Final() {
			if err != nil && ctx.Err() == nil {
				c.opts.Logger.Warn("telling a client of a task", "session", r.ID, "err", err)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-askAgain:
		case <-heard:
		}
	}
}

// newsOf returns what is closed when a question is put again, and when a child whose model
// is the host's may ask something.
func (c *taskExtension) newsOf(id string) (askAgain, heard <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.children.get(id); child != nil && c.opts.HostModel != nil {
		heard = child.progress.since(0).changed
	}
	return c.askAgain, heard
}

// changesTask reports whether a task may be another one after an event of its session, or
// of one below it.
func changesTask(ev event.Event) bool {
	switch ev.(type) {
	case event.ToolApprovalRequired, event.ToolApprovalResolved, event.QuestionAsked, event.QuestionAnswered, event.SessionEnd, event.SessionResumed:
		return true
	}
	return false
}

// summary is the part of a task whose changes its client is notified of.
func summary(t *exttask.Task) string {
	return string(t.Status) + " " + strings.Join(slices.Sorted(maps.Keys(t.InputRequests)), " ")
}
