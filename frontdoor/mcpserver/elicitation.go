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

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/mcphttp"
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

// question is what a child waits for and a host can answer.
type question struct {
	id    string
	since time.Time     // when it arose
	until time.Time     // later answers don't count
	over  chan struct{} // closed once no answer is needed
	only  bool          // nobody but the host can answer

	// unseen says how to answer it elsewhere if the host can't show it to its user;
	// empty: it can't be answered elsewhere.
	unseen string

	// wants reports whether a client can be asked.
	wants func(caps *mcp.ClientCapabilities) bool

	// request is what the client gets to see: an [mcp.ElicitParams] or an
	// [mcp.CreateMessageWithToolsParams].
	request func(ctx context.Context, h host) (mcp.InputRequest, error)

	// answer takes the client's response, or the error instead of one, and how long
	// the question was shown. It may be called twice: two calls may wait for the
	// same child.
	answer func(ctx context.Context, response mcp.InputResponse, err error, h host, shown time.Duration) reply
}

// reply is the outcome of a question that a client was asked.
type reply uint8

const (
	taken  reply = iota // it is settled
	again               // ask again
	unseen              // this client does not answer it
)

// way is how a client can be asked while it waits for a call.
type way uint8

const (
	noWay     way = iota
	byRequest     // the server sends a request of its own
	byRound       // the call is answered with the question, and made again with the answer
)

// wayOf returns how the client of a request can be asked. A client that shook hands
// for a version without a handshake is not asked: its behaviour is unknown.
func wayOf(req *mcp.CallToolRequest) way {
	handshake := ""
	if p := req.Session.InitializeParams(); p != nil {
		handshake = p.ProtocolVersion
	}
	own, _ := req.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	switch {
	case own >= mcphttp.Sessionless && (handshake == "" || handshake >= mcphttp.Sessionless):
		return byRound
	case own == "" && handshake != "" && handshake < mcphttp.Sessionless:
		return byRequest
	default:
		return noWay
	}
}

// elicitation asks the client of one call the questions of its child.
type elicitation struct {
	ctx     context.Context
	cancel  context.CancelFunc
	conn    *connection
	session *mcp.ServerSession
	host    host
	caps    *mcp.ClientCapabilities
	way     way
	asked   map[string]bool
	round   int
	open    sync.WaitGroup // requests that have no answer
	news    chan struct{}  // has a value when more is unseen

	mu     sync.Mutex
	unseen map[string]bool // questions that the client was asked, and whose user does not answer them
}

func (c *connection) newElicitation(ctx context.Context, req *mcp.CallToolRequest, w wait) *elicitation {
	a := &elicitation{
		conn: c, session: req.Session, host: c.host(req.ClientInfo()), caps: req.ClientCapabilities(), way: wayOf(req),
		asked: w.asked, round: w.round, news: make(chan struct{}, 1), unseen: w.unseen,
	}
	if a.asked == nil {
		a.asked = make(map[string]bool)
	}
	if a.unseen == nil {
		a.unseen = make(map[string]bool)
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// stop withdraws the open requests.
func (a *elicitation) stop() {
	a.cancel()
	a.open.Wait()
}

// put asks the client each question that it can answer and was not asked yet. It
// returns the questions that the answer to the call must carry.
func (a *elicitation) put(questions []*question) []*question {
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

// send asks one question by a request. It ends with the question, at the deadline
// for an answer, or with the call.
func (a *elicitation) send(q *question) {
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
	for {
		request, err := q.request(ctx, a.host)
		sent := time.Now()
		var response mcp.InputResponse
		if err == nil {
			response, err = sendRequest(ctx, a.session, request)
		}
		if ctx.Err() != nil && err != nil {
			return
		}
		switch q.answer(ctx, response, err, a.host, a.conn.shown(sent, 1)) {
		case again:
			continue
		case unseen:
			a.miss(q)
		case taken:
		}
		return
	}
}

// shown returns how long each of n forms was shown that were sent at a time and have
// come back now. A host shows one form after the other.
func (c *connection) shown(sent time.Time, n int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.lastForm.After(sent) {
		sent = c.lastForm
	}
	c.lastForm = now
	return now.Sub(sent) / time.Duration(max(1, n))
}

// miss notes that the client's user did not see a question.
func (a *elicitation) miss(q *question) {
	a.mu.Lock()
	a.unseen[q.id] = true
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default: // a value is there already
	}
}

// hidden returns the questions that the client's user can't see and that can be
// answered elsewhere.
func (a *elicitation) hidden(questions []*question) []*question {
	a.mu.Lock()
	defer a.mu.Unlock()
	var hidden []*question
	for _, q := range questions {
		put := a.way != noWay && a.caps != nil && q.wants(a.caps) && a.asked[q.id] && !a.unseen[q.id]
		if q.unseen != "" && !put {
			hidden = append(hidden, q)
		}
	}
	return hidden
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

// round is a call that was answered with questions instead of a result.
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
	if r.sessionID != "" && c.children[r.sessionID] == nil {
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

// settle drops the questions of a child that has ended. They may be as large as a
// model's whole input. Its calls may still be made again. c.mu is held.
func (c *connection) settle(sessionID string) {
	for state, r := range c.rounds {
		if r.sessionID == sessionID {
			r.questions = nil
			c.rounds[state] = r
		}
	}
}

// pose answers a call with the questions that still are open; nil: none is. The
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
	c.remember(state, round{on.id, time.Now(), questions, wait{asked: a.asked, unseen: a.unseen, round: a.round + 1}})
	meta := mcp.Meta{"status": session.WaitingApproval}
	if on.id != "" {
		meta["sessionId"] = on.id
	}
	return &mcp.CallToolResult{
		Meta:          meta,
		InputRequests: requests,
		RequestState:  state,
	}
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
	h := c.host(req.ClientInfo())
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
	return c.outcome(ctx, req, r.sessionID, r.wait)
}
