package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Approval is a tool call that waits for an answer, or has got one, as it is
// stored. Its JSON is camelCase.
type Approval struct {
	Schema         int        `json:"schema"`
	ID             string     `json:"id"`
	SessionID      string     `json:"sessionId"`
	Path           event.Path `json:"path"` // from the root down to the session
	Agent          string     `json:"agent,omitempty"`
	ToolCallID     string     `json:"toolCallId"`
	Tool           string     `json:"tool"`
	Arguments      string     `json:"arguments"`      // JSON, as the model wrote it
	Patterns       []string   `json:"patterns"`       // what the call wants, as rules see it
	AlwaysPatterns []string   `json:"alwaysPatterns"` // what "always" would allow from now on
	Reason         string     `json:"reason"`         // why it is asked about
	CreatedAt      time.Time  `json:"createdAt"`
	ExpiresAt      time.Time  `json:"expiresAt"` // then nobody's answer is a denial

	// SecondPerson is why not everybody may approve the call; nil means everybody may who
	// answers.
	SecondPerson *SecondPerson `json:"secondPerson,omitempty"`

	// The answer. Outcome is empty until somebody answers.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	Always     bool                  `json:"always,omitempty"`
	Feedback   string                `json:"feedback,omitempty"` // what the model is told
	AnsweredBy string                `json:"answeredBy,omitempty"`
	AnsweredAs Person                `json:"answeredAs,omitempty"` // as whom; empty means nobody who can be told apart
	AnsweredAt time.Time             `json:"answeredAt,omitzero"`
}

// Pending reports whether the call still waits.
func (a *Approval) Pending() bool { return a.Outcome == "" }

// Verdict is what somebody answers.
type Verdict uint8

// The verdicts. The zero Verdict denies.
const (
	DenyCall      Verdict = iota
	ApproveOnce           // this call
	ApproveAlways         // and whatever matches the request's AlwaysPatterns
)

// Answer is somebody's answer to an approval request.
type Answer struct {
	Verdict  Verdict
	Feedback string // with DenyCall: what the model is told
	By       string // who answers, for people
	As       Person // as whom: see [SecondPerson]. Empty means it can't be told
}

// Outcome is how an approval ends by the answer.
func (a Answer) Outcome() event.ApprovalOutcome {
	if a.Verdict == DenyCall {
		return event.Denied
	}
	return event.Approved
}

// ErrNoAlways is the error of an answer "always" to a call that no rule of its
// tool would let through from then on.
var ErrNoAlways = errors.New("no rule for calls like it would let it through, so there is no \"always\": approve this call alone, or edit permissions.jsonc")

// AnsweredError tells that an approval had its answer already.
type AnsweredError struct{ Approval *Approval }

func (e *AnsweredError) Error() string {
	a := e.Approval
	by := ""
	if a.AnsweredBy != "" {
		by = " by " + a.AnsweredBy
	}
	return fmt.Sprintf("approval %s does not wait any more: it was %s%s at %s", a.ID, a.Outcome, by, a.AnsweredAt.Local().Format(time.DateTime))
}

// Approvals returns the approvals that wait for an answer, the oldest first.
func (s *Store) Approvals(ctx context.Context) ([]*Approval, error) {
	all, err := s.allApprovals(ctx)
	return slices.DeleteFunc(all, func(a *Approval) bool { return !a.Pending() }), err
}

func (s *Store) allApprovals(ctx context.Context) ([]*Approval, error) {
	entries, err := s.entries(ctx, s.approvals)
	if err != nil {
		return nil, fmt.Errorf("listing approvals: %w", err)
	}
	var all []*Approval
	for _, e := range entries {
		a, err := decodeApproval(e.value)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b *Approval) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Approval returns the approval of an id, waiting or not, or [ErrNotFound]. The
// beginning of an id is enough if only one begins with it; else the error is
// [ErrAmbiguous].
func (s *Store) Approval(ctx context.Context, id string) (*Approval, error) {
	if !event.ValidID(id) {
		return nil, &NotFoundError{"approval", id}
	}
	all, err := s.allApprovals(ctx)
	if err != nil {
		return nil, err
	}
	return byPrefix(all, id, "approval", func(a *Approval) string { return a.ID })
}

// Answer answers a waiting approval and returns it as answered. The first answer counts: for any later one, and for an
// approval that has expired or was cancelled, the error is an [*AnsweredError].
// ErrNotFound and ErrAmbiguous are as for [Store.Approval]; with [ErrNoAlways], and with a
// [*SecondPersonError], the call still waits.
func (s *Store) Answer(ctx context.Context, id string, answer Answer) (*Approval, error) {
	a, err := s.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if answer.Verdict == ApproveAlways && a.Pending() && len(a.AlwaysPatterns) == 0 {
		return nil, fmt.Errorf("approval %s: %w", a.ID, ErrNoAlways)
	}
	if answer.As == TheRules { // these do not answer in this way
		answer.As = Unknown
	}
	won, first, err := s.Resolve(ctx, a.ID, answer.Outcome(), answer)
	if err == nil && !first {
		err = &AnsweredError{won}
	}
	return won, err
}

// Resolve stores an answer unless one is stored already, and returns the approval
// with the one that counts. first: that is this one. The id is a whole one. The error is a
// [*SecondPersonError] where somebody else has to approve the call: it still waits.
func (s *Store) Resolve(ctx context.Context, id string, outcome event.ApprovalOutcome, answer Answer) (a *Approval, first bool, err error) {
	for {
		entry, err := s.approvals.Get(ctx, s.key(id))
		if err != nil {
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		}
		a, err := decodeApproval(entry.Value())
		if err != nil || !a.Pending() {
			return a, false, err
		}
		if outcome == event.Approved && answer.As != TheRules {
			if err := a.SecondPerson.Admits(answer.As); err != nil {
				return nil, false, fmt.Errorf("approval %s: %w", id, err)
			}
		}
		a.Outcome, a.Always, a.Feedback = outcome, answer.Verdict == ApproveAlways, answer.Feedback
		a.AnsweredBy, a.AnsweredAs, a.AnsweredAt = answer.By, answer.As, time.Now().UTC()
		data, err := json.Marshal(a)
		if err != nil {
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		}
		_, err = s.approvals.Update(ctx, s.key(id), data, entry.Revision())
		switch {
		case eventbus.IsConflict(err): // somebody else's came first: which?
		case err != nil:
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		default:
			return a, true, nil
		}
	}
}

// OpenApproval stores an approval that waits for an answer. It sets its schema.
func (s *Store) OpenApproval(ctx context.Context, a *Approval) error {
	a.Schema = Schema
	data, err := json.Marshal(a)
	if err == nil {
		_, err = s.approvals.Create(ctx, s.key(a.ID), data)
	}
	if err != nil {
		return fmt.Errorf("storing approval %s: %w", a.ID, err)
	}
	return nil
}

// AwaitAnswer returns the approval of an id, a whole one, once it has its answer. An
// error is that of the store, or the cause of the end of ctx.
func (s *Store) AwaitAnswer(ctx context.Context, id string) (*Approval, error) {
	watch, err := s.approvals.Watch(ctx, s.key(id))
	if err != nil {
		return nil, fmt.Errorf("waiting for approval %s: %w", id, err)
	}
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case e, ok := <-watch.Updates():
			switch {
			case !ok && ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case !ok:
				return nil, fmt.Errorf("waiting for approval %s: the connection to the event store was closed", id)
			case e == nil: // what was stored has been seen
				continue
			case e.Operation() != jetstream.KeyValuePut:
				return nil, fmt.Errorf("waiting for approval %s: it was removed", id)
			}
			if a, err := decodeApproval(e.Value()); err != nil || !a.Pending() {
				return a, err
			}
		}
	}
}

func decodeApproval(data []byte) (*Approval, error) {
	a := new(Approval)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("reading an approval: %w", err)
	}
	return a, checkSchema("approval "+a.ID, a.Schema)
}
