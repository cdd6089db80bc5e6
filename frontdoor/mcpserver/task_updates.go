package mcpserver

import (
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
	"github.com/agentworker/worker/session/store"
)

// listenToTasks adds to a subscription the tasks that its client wants to hear of: how
// each is doing now, and each change until it has ended.
func (c *connection) listenToTasks(next mcp.MethodHandler) mcp.MethodHandler {
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

// tasksOf returns the sessions of the tasks that a subscription asks about, without those
// that there are none of.
func (c *connection) tasksOf(ctx context.Context, meta mcp.Meta) (map[string]*store.Record, error) {
	records := make(map[string]*store.Record)
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
func (c *connection) watchTask(ctx context.Context, listen *mcp.SubscriptionsListenRequest, l *exttask.Listening, r *store.Record) {
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
	_, stream, err := c.sessions.FollowNew(ctx, r.Path)
	if err != nil {
		c.log.Warn("following a task", "session", r.ID, "err", err)
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
		putAnew, heard := c.newsOf(r.ID)
		now, err := c.sessions.Get(ctx, r.ID)
		var task *exttask.Task
		if err == nil {
			task, err = c.taskState(ctx, now, askerOf(listen))
		}
		if err == nil && told(task) != last {
			last = told(task)
			err = c.sender.Notify(ctx, listen.Session, l, task)
		}
		if err != nil || task.Final() {
			if err != nil && ctx.Err() == nil {
				c.log.Warn("telling a client of a task", "session", r.ID, "err", err)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-putAnew:
		case <-heard:
		}
	}
}

// newsOf returns what is closed when a question is put again, and when a child whose model
// is the host's may ask something.
func (c *connection) newsOf(id string) (putAnew, heard <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child := c.children[id]; child != nil && c.hostModel != nil {
		heard = child.progress.since(0).changed
	}
	return c.putAnew, heard
}

// changesTask reports whether a task may be another one after an event of its session, or
// of one below it.
func changesTask(ev event.Event) bool {
	switch ev.(type) {
	case event.ToolApprovalRequired, event.ToolApprovalResolved, event.SessionEnd, event.SessionResumed:
		return true
	}
	return false
}

// told is what of a task its client hears of.
func told(t *exttask.Task) string {
	return string(t.Status) + " " + strings.Join(slices.Sorted(maps.Keys(t.InputRequests)), " ")
}
