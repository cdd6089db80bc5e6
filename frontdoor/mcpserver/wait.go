package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/transport"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// waiter answers the calls that wait for children.
type waiter struct {
	*Server
	ctx      context.Context // of the connection
	root     *rootSession
	children *children
	asker    *asker
	rounds   *rounds
	givenUp  *transport.GivenUp

	mu       sync.Mutex
	reported map[string]bool // approvals with which a call was answered, by their ids
}

// wait waits for running children of the connection, or reads the results of ended ones.
func (c *waiter) wait(ctx context.Context, req *mcp.CallToolRequest, want wanted, w waitState) *mcp.CallToolResult {
	switch len(want.ids) {
	case 0:
		return c.waitForAll(ctx, req, want, w)
	case 1:
		return c.waitForOne(ctx, req, want.ids[0], w)
	}
	var running []*child
	for _, id := range want.ids {
		child, _, err := c.children.known(id)
		if err != nil {
			return toolcall.Refusal(explained(err))
		}
		if child != nil {
			running = append(running, child)
		}
	}
	if len(running) == 0 || want.any && len(running) < len(want.ids) {
		return c.children.overview(req, want)
	}
	return c.await(ctx, req, groupOf(running, want), w)
}

// waitForOne is wait for one child.
func (c *waiter) waitForOne(ctx context.Context, req *mcp.CallToolRequest, sessionID string, w waitState) *mcp.CallToolResult {
	child, result, err := c.children.known(sessionID)
	switch {
	case err != nil:
		return toolcall.Refusal(explained(err))
	case child != nil:
		_, w.heard = child.progress.last()
		return c.await(ctx, req, single(child), w)
	}
	c.children.deliver(ctx, result)
	return c.result(req, result)
}

// errShared is why a call has to name a session.
var errShared = errors.New("sessionId is needed: over this connection clients share a session, and none may touch what another one has called")

// waitForAll is wait for all children of the connection.
func (c *waiter) waitForAll(ctx context.Context, req *mcp.CallToolRequest, want wanted, w waitState) *mcp.CallToolResult {
	if c.root.shared {
		return toolcall.Refusal(errShared)
	}
	running, over := c.children.list(false)
	switch {
	case len(running) == 1 && len(over) == 0:
		return c.waitForOne(ctx, req, running[0].SessionID(), w)
	case len(running) == 0 && len(over) == 1:
		return c.waitForOne(ctx, req, over[0].id, w)
	case len(running) == 0:
		return c.children.overview(req, wanted{})
	}
	return c.await(ctx, req, groupOf(running, want), w)
}

// errNoResponse is the error of a question which the host has passed over.
var errNoResponse = errors.New("the host has not answered the request for its model")

// again continues a call that was answered with questions. An unanswered
// question stays open for another answer, until it expires.
func (c *waiter) again(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
	r, err := c.rounds.remove(req.Params.RequestState)
	if err != nil {
		return toolcall.Refusal(err)
	}
	h := c.peerOf(req)
	shown := c.asker.shown(r.at, len(req.Params.InputResponses))
	for _, q := range r.questions {
		outcome := unseen
		switch response := req.Params.InputResponses[q.id]; {
		case response != nil:
			outcome = q.answer(ctx, response, nil, h, shown)
		case q.only:
			outcome = q.answer(ctx, nil, errNoResponse, h, shown)
		}
		switch outcome {
		case again:
			delete(r.wait.asked, q.id)
		case unseen:
			r.wait.unseen[q.id] = true
		case settled:
		}
	}
	r.wait.limit = c.patience(req)
	return c.wait(ctx, req, r.want, r.wait)
}

// await returns the result once there is one. Before that a call is answered when its time
// has passed, when it has questions for the host, and when an approval has waited for a
// while that its user can't see. A call that the host cancels stops the child, unless the
// host only stops waiting.
func (c *waiter) await(ctx context.Context, req *mcp.CallToolRequest, on *group, w waitState) *mcp.CallToolResult {
	defer on.release()
	release := sync.OnceFunc(c.children.attach(on.children))
	defer release()
	defer c.report(ctx, req, on, w.heard)()
	elicit := c.asker.elicit(ctx, req, w)
	defer elicit.stop()
	var late <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		now := on.progress.since(w.heard)
		if questions := elicit.put(now.questions); questions != nil {
			if asked := c.pose(ctx, on, elicit, questions); asked != nil {
				return asked
			}
		}
		if elicit.exhausted(now.questions) {
			return c.children.goesOn(req, on)
		}
		hidden, due := c.unreported(elicit.hidden(now.questions))
		select {
		case <-on.done:
			return c.results(req, on)
		case <-on.moved:
			return c.result(req, on.children[0].Accepted())
		case <-late:
			return c.children.goesOn(req, on)
		case <-due:
			c.markReported(hidden)
			return c.children.goesOn(req, on)
		case <-now.changed:
		case <-elicit.news:
		case <-ctx.Done():
			if grace, survives := c.survive(req); survives {
				release() // else the grace may be over while this call still counts as one that waits
				c.children.detach(on.children, grace)
				return c.children.goesOn(req, on)
			}
			on.stop("the host has cancelled the call")
			return c.results(req, on)
		}
	}
}

// survive reports whether the children of a cancelled call go on. Without another call that
// waits for them they go on for the grace at most; 0 means until they end.
func (c *waiter) survive(req *mcp.CallToolRequest) (grace time.Duration, survives bool) {
	switch {
	case c.ctx.Err() != nil: // the connection ends
		return 0, false
	case c.givenUp.Has(req):
		return 0, true
	case c.root.shared: // the next call may be another client's
		return 0, false
	}
	return c.opts.CancelGrace, c.host(req.ClientInfo()).CancelsLate && c.opts.CancelGrace > 0
}

// unreported returns those of the questions with which no call was answered yet,
// and when it is time to answer one with them.
func (c *waiter) unreported(hidden []*question) (fresh []*question, due <-chan time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range hidden {
		if !c.reported[q.id] {
			fresh = append(fresh, q)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	return fresh, time.After(time.Until(fresh[0].since.Add(c.opts.Unseen)))
}

// markReported notes that a call is answered with questions which its user can't
// see. A call that is made after it waits for their answers.
func (c *waiter) markReported(questions []*question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range questions {
		c.reported[q.id] = true
	}
}

// forgetReported forgets what markReported has noted.
func (c *waiter) forgetReported() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.reported)
}

// results answers a call when all that it waits for has ended.
func (c *waiter) results(req *mcp.CallToolRequest, on *group) *mcp.CallToolResult {
	if on.id == "" {
		return c.children.overview(req, on.want)
	}
	result := on.children[0].Result()
	c.children.deliver(c.ctx, result)
	return c.result(req, result)
}

// pose answers a call with the questions that are still open; nil means none is. The
// child goes on, and gets the answers by the next call with the state.
func (c *waiter) pose(ctx context.Context, on *group, a *elicitation, questions []*question) *mcp.CallToolResult {
	requests := make(mcp.InputRequestMap)
	for _, q := range questions {
		request, err := q.request(ctx, a.peer)
		if err != nil {
			if q.answer(ctx, nil, err, a.peer, 0) == unseen {
				a.miss(q)
			}
			continue
		}
		requests[q.id] = request
	}
	if len(requests) == 0 {
		return nil
	}
	state := rand.Text()
	c.rounds.add(state, round{on.id, on.want, time.Now(), questions, waitState{asked: a.asked, unseen: a.unseen, round: a.round + 1}})
	meta := mcp.Meta{"status": record.WaitingApproval}
	if on.id != "" {
		meta["sessionId"] = on.id
	}
	return &mcp.CallToolResult{Meta: meta, InputRequests: requests, RequestState: state}
}

// patience is after what time a call has to be answered; 0 means there is none.
func (c *waiter) patience(req *mcp.CallToolRequest) time.Duration {
	return c.host(req.ClientInfo()).Patience(req.Params.GetProgressToken() != nil)
}

// result is a child's result as the host of a request takes it.
func (s *Server) result(req *mcp.CallToolRequest, r *taskt.Result) *mcp.CallToolResult {
	return toolcall.Result(r, s.host(req.ClientInfo()).Text)
}

// explained adds to the error of a session that is not here where to look for it.
func explained(err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return fmt.Errorf("%w: no call of task on this connection has that session id; of another one, 'worker sessions show' has it in a terminal", err)
	}
	return err
}
