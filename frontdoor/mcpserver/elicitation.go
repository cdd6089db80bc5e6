package mcpserver

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// elicitation asks the client of one call the questions of its child.
type elicitation struct {
	ctx     context.Context
	cancel  context.CancelFunc
	conn    *connection
	session *mcp.ServerSession
	host    peer
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
		conn: c, session: req.Session, host: peer{c.host(req.ClientInfo()), req.ClientCapabilities()}, caps: req.ClientCapabilities(), way: wayOf(req),
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
		link, _ := request.(*mcp.ElicitParams)
		if ctx.Err() != nil && err != nil {
			a.complete(q, link)
			return
		}
		switch q.answer(ctx, response, err, a.host, a.conn.shown(sent, 1)) {
		case again:
			continue
		case unseen:
			a.miss(q)
		case taken:
			a.complete(q, link)
		}
		return
	}
}

// complete tells a client that was sent to the page about an approval when that is answered.
// link nil: it was sent nowhere.
func (a *elicitation) complete(q *question, link *mcp.ElicitParams) {
	if link == nil || link.Mode != "url" {
		return
	}
	id := link.ElicitationID
	select {
	case <-q.over:
	case <-a.ctx.Done(): // the call is over, which may be known before the answer
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), answerTime)
	defer cancel()
	approval, err := a.conn.sessions.Approval(ctx, id)
	if err == nil && !approval.Pending() {
		err = a.session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
	}
	if err != nil {
		a.conn.log.Debug("telling the host that an approval is answered", "approval", id, "err", err)
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

// spent reports whether a child waits for the host's model, and this call can't
// be answered with questions any more: another call has to take them.
func (a *elicitation) spent(questions []*question) bool {
	if a.way != byRound || a.round < maxRounds || a.caps == nil {
		return false
	}
	for _, q := range questions {
		if q.only && !a.asked[q.id] && q.wants(a.caps) {
			return true
		}
	}
	return false
}
