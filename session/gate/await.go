package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
)

// recheckEvery is how often a waiting call is decided on again, in case another process or a
// person has changed the rules.
const recheckEvery = time.Second

// ByRules is the name of the answerer if rules allow a call that waits.
const ByRules = "the rules"

// Answers are the stored answers to an approval. The first one counts.
type Answers interface {
	// Await waits for an answer that somebody else stores.
	Await(ctx context.Context) (*approval.Approval, error)

	// Resolve stores an outcome, or if that is empty, an answer. It returns the approval with
	// the one that counts.
	Resolve(outcome event.ApprovalOutcome, answer approval.Answer) (*approval.Approval, error)
}

// Await returns the approval with the answer that counts. Answers come from by, unless it is
// nil, and from others who store one. Rules answer once they allow the call, as allowed
// reports. Await returns when everything that it has started has ended.
func (p *Policy) Await(ctx context.Context, a *approval.Approval, by Approver, answers Answers, allowed func() bool) (*approval.Approval, error) {
	waiting, stop := context.WithCancel(ctx)
	var askers sync.WaitGroup
	defer askers.Wait()
	defer stop()

	resolve := answers.Resolve
	// The first one stores the answer; all learn of it here.
	type outcome struct {
		answered *approval.Approval
		err      error
	}
	outcomes := make(chan outcome, 2)
	askers.Go(func() {
		answered, err := answers.Await(waiting)
		outcomes <- outcome{answered, err}
	})
	if by != nil {
		askers.Go(func() {
			answer, err := by.Approve(waiting, a)
			switch {
			case waiting.Err() != nil:
				return
			case err != nil: // nobody sits there any more
				answered, err := resolve(event.Cancelled, approval.Answer{Feedback: err.Error()})
				outcomes <- outcome{answered, err}
				return
			}
			answered, err := resolve("", answer)
			if wrong := (*approval.WrongAnswerError)(nil); errors.As(err, &wrong) { // no answer of the approver's fits
				answered, err = resolve(event.Cancelled, approval.Answer{Feedback: wrong.Why})
			}
			outcomes <- outcome{answered, err}
		})
	}
	recheck, forget := p.rechecks.add()
	defer forget()
	expiry := time.NewTimer(time.Until(a.ExpiresAt))
	defer expiry.Stop()
	look := time.NewTicker(recheckEvery)
	defer look.Stop()
	for {
		select {
		case o := <-outcomes:
			if o.err != nil && ctx.Err() != nil {
				return resolve(event.Cancelled, approval.Answer{})
			}
			return o.answered, o.err
		case <-ctx.Done():
			return resolve(event.Cancelled, approval.Answer{})
		case <-expiry.C:
			return resolve(event.Expired, approval.Answer{})
		case <-recheck:
		case <-look.C:
		}
		if allowed() {
			return resolve(event.Approved, approval.Answer{Verdict: approval.ApproveOnce, By: ByRules, As: record.TheRules})
		}
	}
}

// rechecks wakes waiting calls when the rules of this process have changed.
type rechecks struct {
	mu      sync.Mutex
	waiting map[chan struct{}]bool
}

// add returns a channel that has a value after a change, until forget is called.
func (r *rechecks) add() (changed <-chan struct{}, forget func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(map[chan struct{}]bool)
	}
	r.waiting[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, c)
	}
}

func (r *rechecks) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.waiting {
		select {
		case c <- struct{}{}:
		default: // it has not seen the change before
		}
	}
}
