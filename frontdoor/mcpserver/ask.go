package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session"
)

// maxRounds is how often one call is answered with questions. Clients give up
// on a call that asks without end: the SDK's after ten times.
const maxRounds = 8

// How many calls that were not made again a connection remembers: of one child,
// before it forgets the oldest, and in all, before it forgets those whose child
// has ended.
const (
	maxChildRounds = 16
	maxOpenRounds  = 1000
)

// question is something that a child waits for and a host can answer.
type question struct {
	id    string
	until time.Time     // after which no answer counts
	over  chan struct{} // closed: no answer is wanted any more
	only  bool          // nobody but the host can answer

	// wants reports whether a client can be asked.
	wants func(caps *mcp.ClientCapabilities) bool

	// request is what the client gets to see: an [mcp.ElicitParams] or an
	// [mcp.CreateMessageWithToolsParams].
	request func(ctx context.Context) (mcp.InputRequest, error)

	// answer takes the client's response, or why there is none. It may come
	// twice, from two calls that wait for the same child.
	answer func(ctx context.Context, response mcp.InputResponse, err error)
}

// way is how a client can be asked something while it waits for a call.
type way uint8

const (
	noWay     way = iota
	byRequest     // the server sends a request of its own
	byRound       // the call is answered with the question, and made again with the answer
)

// wayOf returns how the client of a request can be asked. One that has shaken
// hands with a version that has no handshake is not asked: what it would make of
// a question is not known.
func wayOf(req *mcp.CallToolRequest) way {
	handshake := ""
	if p := req.Session.InitializeParams(); p != nil {
		handshake = p.ProtocolVersion
	}
	own, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	switch {
	case own >= sessionless && (handshake == "" || handshake >= sessionless):
		return byRound
	case own == "" && handshake != "" && handshake < sessionless:
		return byRequest
	default:
		return noWay
	}
}

// asker asks the client of one call what the child waits for.
type asker struct {
	ctx     context.Context
	cancel  context.CancelFunc
	conn    *connection
	session *mcp.ServerSession
	caps    *mcp.ClientCapabilities
	way     way
	asked   map[string]bool
	round   int
	open    sync.WaitGroup // requests that have no answer
}

func (c *connection) newAsker(ctx context.Context, req *mcp.CallToolRequest, w wait) *asker {
	a := &asker{conn: c, session: req.Session, caps: req.ClientCapabilities(), way: wayOf(req), asked: w.asked, round: w.round}
	if a.asked == nil {
		a.asked = make(map[string]bool)
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// stop withdraws the requests that have no answer.
func (a *asker) stop() {
	a.cancel()
	a.open.Wait()
}

// put asks the client those of the questions that it can answer and was not
// asked yet. It returns those with which the call has to be answered.
func (a *asker) put(questions []*question) []*question {
	if a.way == noWay || a.caps == nil || a.way == byRound && a.round >= maxRounds {
		return nil
	}
	var fresh []*question
	for _, q := range questions {
		if !a.asked[q.id] && q.wants(a.caps) {
			a.asked[q.id] = true
			fresh = append(fresh, q)
		}
	}
	if a.way == byRound {
		return fresh
	}
	for _, q := range fresh {
		a.open.Go(func() { a.send(q) })
	}
	return nil
}

// send asks one question by a request. It ends with the question, with the
// time for an answer, and with the call.
func (a *asker) send(q *question) {
	ctx, cancel := context.WithDeadline(a.ctx, q.until)
	defer cancel()
	settled := make(chan struct{})
	defer close(settled)
	a.open.Go(func() {
		select {
		case <-q.over:
			cancel()
		case <-settled:
		}
	})
	request, err := q.request(ctx)
	var response mcp.InputResponse
	if err == nil {
		response, err = sendRequest(ctx, a.session, request)
	}
	if ctx.Err() == nil || err == nil {
		q.answer(ctx, response, err)
	}
}

func sendRequest(ctx context.Context, host *mcp.ServerSession, request mcp.InputRequest) (mcp.InputResponse, error) {
	switch r := request.(type) {
	case *mcp.ElicitParams:
		res, err := host.Elicit(ctx, r)
		if err != nil {
			return nil, err
		}
		return res, nil
	case *mcp.CreateMessageWithToolsParams:
		res, err := host.CreateMessageWithTools(ctx, r)
		if err != nil {
			return nil, err
		}
		return res, nil
	default:
		return nil, fmt.Errorf("a host can't be asked a %T", request)
	}
}

// round is what a call was answered with instead of a result.
type round struct {
	sessionID string
	at        time.Time
	questions []*question // none once the child has ended
	wait      wait
}

// remember keeps a round until its call is made again.
func (c *connection) remember(state string, r round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.children[r.sessionID] == nil {
		r.questions = nil
	}
	if len(c.rounds) >= maxOpenRounds {
		maps.DeleteFunc(c.rounds, func(_ string, r round) bool { return c.children[r.sessionID] == nil })
	}
	oldest, n := "", 0
	for state, other := range c.rounds {
		if other.sessionID != r.sessionID {
			continue
		}
		if n++; oldest == "" || other.at.Before(c.rounds[oldest].at) {
			oldest = state
		}
	}
	if n >= maxChildRounds {
		delete(c.rounds, oldest)
	}
	c.rounds[state] = r
}

// settle drops what a child that has ended has asked, which may be all that a
// host's model was to read. Its calls may still be made again. c.mu is held.
func (c *connection) settle(sessionID string) {
	for state, r := range c.rounds {
		if r.sessionID == sessionID {
			r.questions = nil
			c.rounds[state] = r
		}
	}
}

// pose answers a call with questions, those of them that still are open; nil:
// none is. The child lives on, and takes the answers with the next call that has
// the state.
func (c *connection) pose(ctx context.Context, child *child, a *asker, questions []*question) *mcp.CallToolResult {
	requests := make(mcp.InputRequestMap)
	for _, q := range questions {
		request, err := q.request(ctx)
		if err != nil {
			q.answer(ctx, nil, err)
			continue
		}
		requests[q.id] = request
	}
	if len(requests) == 0 {
		return nil
	}
	state := rand.Text()
	c.remember(state, round{child.SessionID(), time.Now(), questions, wait{asked: a.asked, round: a.round + 1}})
	return &mcp.CallToolResult{
		Meta:          mcp.Meta{"sessionId": child.SessionID(), "status": session.WaitingApproval},
		InputRequests: requests,
		RequestState:  state,
	}
}

// errNoRound is the error of a call that comes with an answer to nothing.
var errNoRound = errors.New("this answers no question of this connection: make the call again, without requestState")

// resume goes on with a call that was answered with questions. What is not
// answered waits on: for another answer, or until it expires.
func (c *connection) resume(ctx context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
	c.mu.Lock()
	r, ok := c.rounds[req.Params.RequestState]
	delete(c.rounds, req.Params.RequestState)
	c.mu.Unlock()
	if !ok {
		return refusal(errNoRound)
	}
	for _, q := range r.questions {
		switch response := req.Params.InputResponses[q.id]; {
		case response != nil:
			q.answer(ctx, response, nil)
		case q.only:
			q.answer(ctx, nil, errNoResponse)
		}
	}
	r.wait.limit = c.patience(req)
	return c.outcome(ctx, req, r.sessionID, r.wait)
}
