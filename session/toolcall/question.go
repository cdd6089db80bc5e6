package toolcall

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// ask stores an approval, publishes it, waits for the first answer, and publishes the
// outcome. It sets the session, the times, an id unless there is one, and who has asked for the work. A question of
// the agent that the store has already, from before a takeover, goes on. Answers come from the session's approver, from
// [store.Store.Approvals.Pending.Answer] in any process, and from rules that allow the call meanwhile, as
// allowed reports. The session's clock stands still. An error means that the store has
// failed.
func (s *Calls) ask(ctx context.Context, a *approval.Approval, allowed func() bool) (*approval.Approval, error) {
	s.await(+1)
	defer s.await(-1)
	a.SessionID, a.Path, a.Agent = s.log.ID, s.log.Path, s.log.Agent()
	a.ID = cmp.Or(a.ID, record.NewID("apr"))
	a.CreatedAt = time.Now().UTC()
	a.ExpiresAt = a.CreatedAt.Add(s.p.AnswerTime)
	if a.SecondPerson != nil {
		a.AskedBy = a.SecondPerson.AskedBy
	} else {
		a.AskedBy = s.p.AskedBy(ctx, s.log.Path)
	}
	if err := s.log.Storing(func(ctx context.Context) (err error) { a, err = s.open(ctx, a); return err }); err != nil {
		return nil, err
	}
	s.log.Publish(a.Event())
	if err := s.log.Flush(ctx); err != nil && ctx.Err() == nil { // nobody is shown what may be forgotten
		return nil, err
	}
	HooksOf(s).Asked(asked(a))
	by := s.approver
	if a.SecondPerson != nil || a.Ask != nil && !approval.Asks(by) { // whoever sits here has asked for the work, or nobody does
		by = nil
	}
	changed, forget := s.p.Policy.Changes()
	defer forget()
	answered, err := approval.Await(ctx, a, by, answers{s, a.ID}, changed, allowed)
	if err != nil {
		return nil, err
	}
	if answered.Outcome == event.Cancelled && ctx.Err() == nil { // as another process does that ends the session
		looking, cancel := s.log.StoreContext()
		_ = s.log.LoseIfClaimed(looking) // the answer is what it is
		cancel()
	}
	s.log.Publish(answered.Resolved())
	return answered, nil
}

// open stores an approval, and returns what is stored.
func (s *Calls) open(ctx context.Context, a *approval.Approval) (*approval.Approval, error) {
	err := s.p.Store.Approvals.Open(ctx, a)
	if a.Ask == nil || !errors.Is(err, jetstream.ErrKeyExists) {
		return a, err
	}
	return s.p.Store.Approvals.Get(ctx, a.ID)
}

// questionID is the id of the question that a call asks: the same after a takeover.
func questionID(sessionID string, call *tool.Call) string {
	sum := sha256.Sum256([]byte(sessionID + " " + call.MessageID + " " + call.ID))
	return approval.QuestionPrefix + "_" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

// AskPerson puts a question of the agent to a person, and returns it with its answer, or as
// expired, or cancelled. nil means that nobody is there who could answer.
func (s *Calls) AskPerson(ctx context.Context, call *tool.Call, ask event.Ask) (*approval.Approval, error) {
	attended, where := !s.p.Unattended || approval.Asks(s.approver), ""
	if !attended && s.p.Present != nil {
		where = s.p.Present(ctx)
		attended = where != ""
	}
	if !attended {
		return nil, nil
	}
	ask = ask.Masked()
	a, err := s.ask(ctx, &approval.Approval{
		ID: questionID(s.log.ID, call), ToolCallID: call.ID, Tool: toolcatalog.AskUser, Arguments: secrets.MaskJSON(string(call.Args)),
		Patterns: []string{}, AlwaysPatterns: []string{},
		Question: ask.Shown(), Ask: &ask, Where: where,
	}, func() bool { return false })
	if err != nil {
		return nil, err
	}
	s.Audit.answered(a)
	return a, nil
}

// asker returns a function that puts questions of a call's program to a person: [tool.Call.Ask].
func asker(s *Calls, call *tool.Call) func(context.Context, tool.Inquiry) (tool.Reply, error) {
	var asked atomic.Int32
	return func(ctx context.Context, q tool.Inquiry) (tool.Reply, error) {
		one := *call
		one.MessageID += fmt.Sprintf(" question %d", asked.Add(1)) // each has an id of its own
		a, err := s.AskPerson(ctx, &one, event.Ask(q))
		switch {
		case err != nil || a == nil:
			return tool.Reply{}, err
		case a.Outcome == event.Declined:
			return tool.Reply{Declined: true}, nil
		case a.Outcome != event.Answered:
			return tool.Reply{}, context.Cause(ctx)
		}
		return tool.Reply{Answers: a.Answers}, nil
	}
}

// teller returns what publishes how far a call is: [tool.Call.Tell].
func teller(s *Calls, c *Call) func(tool.Progress) {
	return func(p tool.Progress) {
		s.log.Publish(event.ToolProgress{ToolCallID: c.ID, Done: p.Done, Total: p.Total, Level: p.Level, Message: p.Message})
	}
}

// AnswerTime is how long a question waits for its answer.
func (s *Calls) AnswerTime() time.Duration { return s.p.AnswerTime }

// AskBudget asks somebody whether the session may go on although a limit of its budget is
// used up. why says that in a sentence.
func (s *Calls) AskBudget(ctx context.Context, limit, why string) (bool, error) {
	attended, where := s.attended(ctx, false)
	if !attended {
		return false, nil
	}
	args, err := json.Marshal(map[string]string{"limit": limit})
	if err != nil {
		return false, err
	}
	a, err := s.ask(ctx, &approval.Approval{
		ToolCallID: record.NewID("call"), Tool: "budget", Arguments: string(args),
		Patterns: []string{limit}, AlwaysPatterns: []string{},
		Question: event.Question{Title: "use as much again of its limit " + limit, Parts: []event.QuestionPart{}},
		Reason:   why + ".",
		Where:    where,
	}, func() bool { return false })
	if err != nil {
		return false, err
	}
	s.Audit.answered(a)
	s.log.Status(event.StatusStreaming)
	return a.Outcome == event.Approved, nil
}

// answers are those to an approval of a session.
type answers struct {
	s  *Calls
	id string
}

// Await implements [approval.Answers].
func (a answers) Await(ctx context.Context) (*approval.Approval, error) {
	return a.s.p.Store.Approvals.Await(ctx, a.id)
}

// Resolve implements [approval.Answers].
func (a answers) Resolve(outcome event.ApprovalOutcome, answer approval.Answer) (answered *approval.Approval, err error) {
	var wrong *approval.WrongAnswerError // by a person: the session has not failed
	err = a.s.log.Storing(func(ctx context.Context) (err error) {
		if answered, _, err = a.s.p.Store.Approvals.Resolve(ctx, a.id, outcome, answer); errors.As(err, &wrong) {
			return nil
		}
		return err
	})
	if err == nil && wrong != nil {
		return nil, wrong
	}
	return answered, err
}

// waiting counts the calls that wait for an answer. The session waits while any does.
type waiting struct {
	mu     sync.Mutex // held until the state that follows is published
	calls  int
	resume func() // has the clocks run again
}

// await counts a call that begins to wait, or no longer does.
func (s *Calls) await(delta int) {
	w := &s.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.calls
	w.calls += delta
	switch {
	case before == 0:
		w.resume = s.life.Hold()
		s.log.Status(event.StatusWaitingApproval)
		s.log.Fail(s.log.Become(record.WaitingApproval))
	case w.calls == 0:
		s.log.Fail(s.log.Become(record.Running))
		s.log.Status(event.StatusExecutingTool)
		w.resume()
	}
}

// secondPerson says who may approve a call of these values if the policy demands a second
// person; nil means it does not.
func (s *Calls) secondPerson(ctx context.Context, rules *gate.Layers, values []permission.Value) *approval.SecondPerson {
	rule := rules.SecondPerson(values)
	if rule == nil {
		return nil
	}
	return &approval.SecondPerson{Rule: fmt.Sprintf("%v (%s)", *rule, rule.Source), AskedBy: s.p.AskedBy(ctx, s.log.Path)}
}

// AskedBy returns who has asked for the work of the session at the end of a path. If that
// can't be found out, [record.Unknown] is among them.
func (p *Process) AskedBy(ctx context.Context, path event.Path) []record.Person {
	if len(path) == 0 {
		return []record.Person{record.Unknown}
	}
	people, err := p.Store.Approvals.AskedBy(ctx, path, p.Live)
	if err != nil {
		p.Log.Warn("it is not known who has asked for a session: no second person can approve its calls", "session", path[len(path)-1].SessionID, "err", err)
		return []record.Person{record.Unknown}
	}
	return people
}

// attended reports whether somebody may answer, and where, if it is not here. A second person
// is another than the one who sits at the session.
func (s *Calls) attended(ctx context.Context, second bool) (attended bool, where string) {
	if !s.p.Unattended || !second && s.approver != nil || second && (approval.Sits(s.approver) || approval.Sits(s.p.Approver)) {
		return true, ""
	}
	if s.p.Present != nil {
		where = s.p.Present(ctx)
	}
	return where != "", where
}
