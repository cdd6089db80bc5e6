package mcpserver

import (
	"errors"
	"maps"
	"sync"
	"time"
)

const (
	// maxRounds is how often one call is answered with questions. Clients give up
	// on a call that asks without end: the SDK's after ten times.
	maxRounds = 8

	// maxChildRounds bounds the rounds of one child: one more replaces the oldest.
	maxChildRounds = 16

	// maxOpenRounds bounds the rounds of a connection. Beyond it, those are forgotten
	// whose child has ended.
	maxOpenRounds = 1000
)

// round is a call that was answered with questions instead of a result.
type round struct {
	sessionID string // of the one child that is waited for; empty means of several
	want      wanted
	at        time.Time
	questions []*question // none once the child has ended
	wait      waitState
}

// rounds are the calls that the host is to make again with its answers, by their
// requestState: the multi-round-trip requests of MCP from 2026-07-28 on.
type rounds struct {
	children *children

	mu   sync.Mutex
	open map[string]round
}

// add keeps a round until its call is made again.
func (r *rounds) add(state string, added round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if added.sessionID != "" && r.children.get(added.sessionID) == nil {
		added.questions = nil
	}
	if len(r.open) >= maxOpenRounds {
		maps.DeleteFunc(r.open, func(_ string, other round) bool { return r.children.get(other.sessionID) == nil })
	}
	oldest, n := "", 0
	for state, other := range r.open {
		if other.sessionID != added.sessionID {
			continue
		}
		if n++; oldest == "" || other.at.Before(r.open[oldest].at) {
			oldest = state
		}
	}
	if n >= maxChildRounds {
		delete(r.open, oldest)
	}
	r.open[state] = added
}

// errNoRound is the error of a call that answers no open question.
var errNoRound = errors.New("this answers no question of this connection: make the call again, without requestState")

// remove returns the round of a call that is made again, which counts once.
func (r *rounds) remove(state string) (round, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.open[state]
	if !ok {
		return round{}, errNoRound
	}
	delete(r.open, state)
	return found, nil
}

// dropQuestions forgets the questions of a child that has ended. They may be as large as a
// model's whole input. Its calls may still be made again.
func (r *rounds) dropQuestions(sessionID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for state, round := range r.open {
		if round.sessionID == sessionID {
			round.questions = nil
			r.open[state] = round
		}
	}
}
