package mcpserver

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// elicitation asks the client of one call the questions of its child.
type elicitation struct {
	*asker
	ctx     context.Context
	cancel  context.CancelFunc
	session *mcp.ServerSession
	peer    peer
	way     way
	asked   map[string]bool
	round   int
	open    sync.WaitGroup // requests that have no answer
	news    chan struct{}  // has a value when more is unseen

	mu     sync.Mutex
	unseen map[string]bool // questions that the client was asked, and whose user does not answer them
}

// elicit begins to ask the client of a call. End it with stop.
func (k *asker) elicit(ctx context.Context, req *mcp.CallToolRequest, w waitState) *elicitation {
	a := &elicitation{
		asker: k, session: req.Session, peer: k.peerOf(req), way: wayOf(req),
		asked: maps.Clone(w.asked), round: w.round, news: make(chan struct{}, 1), unseen: maps.Clone(w.unseen),
	}
	if a.asked == nil {
		a.asked, a.unseen = make(map[string]bool), make(map[string]bool)
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
	if a.way == noWay || a.peer.caps == nil || a.way == byRound && a.round >= maxRounds {
		return nil
	}
	var fresh []*question
	for _, q := range questions {
		if !a.asked[q.id] && q.wants(a.peer.caps) {
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
	answered := make(chan struct{})
	defer close(answered)
	a.open.Go(func() {
		select {
		case <-q.over:
			cancel()
		case <-answered:
		}
	})
	for {
		request, err := q.request(ctx, a.peer)
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
		switch q.answer(ctx, response, err, a.peer, a.shown(sent, 1)) {
		case again:
			continue
		case unseen:
			a.miss(q)
		case settled:
			a.complete(q, link)
		}
		return
	}
}

// complete tells a client that its approval was answered, if a link had sent it to the
// page. link may be nil.
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
	approval, err := a.opts.Sessions.Approvals.Get(ctx, id)
	if err == nil && !approval.Pending() {
		err = a.session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id})
	}
	if err != nil {
		a.opts.Logger.Debug("telling the host that an approval is answered", "approval", id, "err", err)
	}
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
		put := a.way != noWay && a.peer.caps != nil && q.wants(a.peer.caps) && a.asked[q.id] && !a.unseen[q.id]
		if q.unseen != "" && !put {
			hidden = append(hidden, q)
		}
	}
	return hidden
}

// exhausted reports whether a child waits for the host's model, and this call can't
// be answered with questions any more: another call has to carry them.
func (a *elicitation) exhausted(questions []*question) bool {
	if a.way != byRound || a.round < maxRounds || a.peer.caps == nil {
		return false
	}
	for _, q := range questions {
		if q.only && !a.asked[q.id] && q.wants(a.peer.caps) {
			return true
		}
	}
	return false
}
