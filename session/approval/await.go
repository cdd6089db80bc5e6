package approval

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
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
	Await(ctx context.Context) (*Approval, error)

	// Resolve stores an outcome, or if that is empty, an answer. It returns the approval with
	// the one that counts.
	Resolve(outcome event.ApprovalOutcome, answer Answer) (*Approval, error)
}

// Await returns the approval with the answer that counts. Answers come from by, unless it is
// nil, and from others who store one. Rules answer once they allow the call, as allowed
// reports: it is asked after each value of changed, and once a second. Await returns when everything that it has started has ended.
func Await(ctx context.Context, a *Approval, by Approver, answers Answers, changed <-chan struct{}, allowed func() bool) (*Approval, error) {
	waiting, stop := context.WithCancel(ctx)
	var askers sync.WaitGroup
	defer askers.Wait()
	defer stop()

	resolve := answers.Resolve
	// The first one stores the answer; all learn of it here.
	type outcome struct {
		answered *Approval
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
				answered, err := resolve(event.Cancelled, Answer{Feedback: err.Error()})
				outcomes <- outcome{answered, err}
				return
			}
			answered, err := resolve("", answer)
			if wrong := (*WrongAnswerError)(nil); errors.As(err, &wrong) { // no answer of the approver's fits
				answered, err = resolve(event.Cancelled, Answer{Feedback: wrong.Why})
			}
			outcomes <- outcome{answered, err}
		})
	}
	expiry := time.NewTimer(time.Until(a.ExpiresAt))
	defer expiry.Stop()
	look := time.NewTicker(recheckEvery)
	defer look.Stop()
	for {
		select {
		case o := <-outcomes:
			if o.err != nil && ctx.Err() != nil {
				return resolve(event.Cancelled, Answer{})
			}
			return o.answered, o.err
		case <-ctx.Done():
			return resolve(event.Cancelled, Answer{})
		case <-expiry.C:
			return resolve(event.Expired, Answer{})
		case <-changed:
		case <-look.C:
		}
		if allowed() {
			return resolve(event.Approved, Answer{Verdict: ApproveOnce, By: ByRules, As: record.TheRules})
		}
	}
}
