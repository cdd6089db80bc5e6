package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// wanted is what a call of task_wait is about.
type wanted struct {
	ids []string // none: all children
	any bool     // until one of them has ended
}

// outcome waits for children of the connection that run, or reads the results of
// those that have ended.
func (c *connection) outcome(ctx context.Context, req *mcp.CallToolRequest, want wanted, w wait) *mcp.CallToolResult {
	switch len(want.ids) {
	case 0:
		return c.outcomeOfAll(ctx, req, want, w)
	case 1:
		return c.outcomeOf(ctx, req, want.ids[0], w)
	}
	var running []*child
	for _, id := range want.ids {
		child, _, err := c.known(id)
		if err != nil {
			return refusal(c.notHere(err))
		}
		if child != nil {
			running = append(running, child)
		}
	}
	if len(running) == 0 || want.any && len(running) < len(want.ids) {
		return c.listChildren(req, want.ids)
	}
	return c.await(ctx, req, waitedAll(running, want), w)
}

// known returns a child that runs, or the result of one that has ended.
func (c *connection) known(sessionID string) (child *child, result *taskt.Result, err error) {
	if child = c.running(sessionID); child != nil {
		return child, nil, nil
	}
	if result, err = c.stored(sessionID); errors.Is(err, control.ErrRunning) {
		if child = c.begun(sessionID); child != nil {
			return child, nil, nil
		}
	}
	return nil, result, err
}

// outcomeOf is outcome for one child.
func (c *connection) outcomeOf(ctx context.Context, req *mcp.CallToolRequest, sessionID string, w wait) *mcp.CallToolResult {
	child, result, err := c.known(sessionID)
	switch {
	case err != nil:
		return refusal(c.notHere(err))
	case child != nil:
		_, w.heard = child.progress.last()
		return c.await(ctx, req, waitedChild(child), w)
	}
	c.hand(ctx, result)
	return c.result(req, result)
}

// errShared is why a call has to name a session.
var errShared = errors.New("sessionId is needed: over this connection clients share a session, and none may touch what another one has called")

// outcomeOfAll waits for all children of the connection, and lists them.
func (c *connection) outcomeOfAll(ctx context.Context, req *mcp.CallToolRequest, want wanted, w wait) *mcp.CallToolResult {
	if c.shared {
		return refusal(errShared)
	}
	running, over := c.family(false)
	switch {
	case len(running) == 1 && len(over) == 0:
		return c.outcomeOf(ctx, req, running[0].SessionID(), w)
	case len(running) == 0 && len(over) == 1:
		return c.outcomeOf(ctx, req, over[0].id, w)
	case len(running) == 0:
		return c.listChildren(req, nil)
	}
	return c.await(ctx, req, waitedAll(running, want), w)
}

// errNoRound is the error of a call that answers no open question.
var errNoRound = errors.New("this answers no question of this connection: make the call again, without requestState")

// resume goes on with a call that was answered with questions. An unanswered
// question stays open for another answer, until it expires.
func (c *connection) resume(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
	c.mu.Lock()
	r, ok := c.rounds[req.Params.RequestState]
	delete(c.rounds, req.Params.RequestState)
	c.mu.Unlock()
	if !ok {
		return refusal(errNoRound)
	}
	h := peer{c.host(req.ClientInfo()), req.ClientCapabilities()}
	shown := c.shown(r.at, len(req.Params.InputResponses))
	for _, q := range r.questions {
		became := unseen
		switch response := req.Params.InputResponses[q.id]; {
		case response != nil:
			became = q.answer(ctx, response, nil, h, shown)
		case q.only:
			became = q.answer(ctx, nil, errNoResponse, h, shown)
		}
		switch became {
		case again:
			delete(r.wait.asked, q.id)
		case unseen:
			r.wait.unseen[q.id] = true
		case taken:
		}
	}
	r.wait.limit = c.patience(req)
	return c.outcome(ctx, req, r.want, r.wait)
}

// await returns the result once there is one. Before that a call is answered
// when its time has passed, when an approval has waited for a while that its
// user can't see, and with what the host is to be asked. A call that the host
// cancels stops the child, unless the host has but given up on waiting.
func (c *connection) await(ctx context.Context, req *mcp.CallToolRequest, on *waited, w wait) *mcp.CallToolResult {
	defer on.leave()
	leave := sync.OnceFunc(c.claim(on.children))
	defer leave()
	defer c.report(ctx, req, on, w.heard)()
	elicit := c.newElicitation(ctx, req, w)
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
		if elicit.spent(now.questions) {
			return c.goesOn(req, on)
		}
		hidden, notSeen := c.handover(elicit.hidden(now.questions))
		select {
		case <-on.done:
			return c.results(req, on)
		case <-on.moved:
			return c.result(req, on.children[0].Accepted())
		case <-late:
			return c.goesOn(req, on)
		case <-notSeen:
			c.handOver(hidden)
			return c.goesOn(req, on)
		case <-now.changed:
		case <-elicit.news:
		case <-ctx.Done():
			if grace, lives := c.survives(req); lives {
				leave() // else the grace may be over while this call still counts as one that waits
				c.lose(on.children, grace)
				return c.goesOn(req, on)
			}
			on.stop("the host has cancelled the call")
			return c.results(req, on)
		}
	}
}

// handover returns those of the questions with which no call was answered yet,
// and when it is time to answer one with them.
func (c *connection) handover(hidden []*question) (fresh []*question, due <-chan time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range hidden {
		if !c.handed[q.id] {
			fresh = append(fresh, q)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	return fresh, time.After(time.Until(fresh[0].since.Add(c.unseen)))
}

// handOver notes that a call is answered with questions which its user can't
// see: one that is made after that waits on.
func (c *connection) handOver(questions []*question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range questions {
		c.handed[q.id] = true
	}
}

// results is what a call is answered with when all that it waits for has ended.
func (c *connection) results(req *mcp.CallToolRequest, on *waited) *mcp.CallToolResult {
	if on.id == "" {
		return c.listChildren(req, on.want.ids)
	}
	result := on.children[0].Result()
	c.hand(c.ctx, result)
	return c.result(req, result)
}

// pose answers a call with the questions that are still open; nil means no question is
// open. The
// child goes on, and gets the answers by the next call with the state.
func (c *connection) pose(ctx context.Context, on *waited, a *elicitation, questions []*question) *mcp.CallToolResult {
	requests := make(mcp.InputRequestMap)
	for _, q := range questions {
		request, err := q.request(ctx, a.host)
		if err != nil {
			if q.answer(ctx, nil, err, a.host, 0) == unseen {
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
	c.remember(state, round{on.id, on.want, time.Now(), questions, wait{asked: a.asked, unseen: a.unseen, round: a.round + 1}})
	meta := mcp.Meta{"status": store.WaitingApproval}
	if on.id != "" {
		meta["sessionId"] = on.id
	}
	return &mcp.CallToolResult{
		Meta:          meta,
		InputRequests: requests,
		RequestState:  state,
	}
}
