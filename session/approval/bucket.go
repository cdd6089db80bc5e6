package approval

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
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/record"
)

// Pending returns the approvals that wait for an answer, the oldest first.
func (b *Bucket) Pending(ctx context.Context) ([]*Approval, error) {
	all, err := b.All(ctx)
	return slices.DeleteFunc(all, func(a *Approval) bool { return !a.Pending() }), err
}

// All returns all approvals that are kept, the oldest first.
func (b *Bucket) All(ctx context.Context) ([]*Approval, error) {
	entries, err := b.index.Entries(ctx, b.kv)
	if err != nil {
		return nil, fmt.Errorf("listing approvals: %w", err)
	}
	var all []*Approval
	for _, e := range entries {
		a, err := decode(e.Value)
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

// Get returns the approval of an id, waiting or not, or [record.ErrNotFound]. The beginning
// of an id is enough if only one id begins with it; otherwise the error is
// [record.ErrAmbiguous].
func (b *Bucket) Get(ctx context.Context, id string) (*Approval, error) {
	if !event.ValidID(id) {
		return nil, &record.NotFoundError{What: "approval", ID: id}
	}
	entry, err := b.kv.Get(ctx, b.index.Key(id))
	if err == nil {
		return decode(entry.Value())
	}
	if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("reading approval %s: %w", id, err)
	}
	all, err := b.All(ctx)
	if err != nil {
		return nil, err
	}
	return record.Find(all, id, "approval", func(a *Approval) string { return a.ID })
}

// Answer answers a waiting approval and returns the answered one. Only the first answer
// counts. For a later one, and for an approval that has expired or was cancelled, the error
// is an [*AnsweredError]. For an id it is [record.ErrNotFound] or [record.ErrAmbiguous], as
// in [Bucket.Get]. After [ErrNoAlways], a [*SecondPersonError] and a [*WrongAnswerError] the
// call still waits.
func (b *Bucket) Answer(ctx context.Context, id string, answer Answer) (*Approval, error) {
	a, err := b.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if answer.Verdict == ApproveAlways && a.Pending() && len(a.AlwaysPatterns) == 0 {
		return nil, fmt.Errorf("approval %s: %w", a.ID, ErrNoAlways)
	}
	if answer.As == record.TheRules { // rules do not answer in this way
		answer.As = record.Unknown
	}
	won, first, err := b.Resolve(ctx, a.ID, "", answer)
	if err == nil && !first {
		err = &AnsweredError{won}
	}
	return won, err
}

// Resolve ends an approval: by an outcome, such as expired, or if that is empty, by the answer.
// It stores the end unless there is one, and returns the approval with the end that counts. first
// reports that it is this one. The id must be complete. After a [*SecondPersonError], because
// somebody else has to approve the call, and a [*WrongAnswerError], it still waits.
func (b *Bucket) Resolve(ctx context.Context, id string, outcome event.ApprovalOutcome, answer Answer) (a *Approval, first bool, err error) {
	for {
		entry, err := b.kv.Get(ctx, b.index.Key(id))
		if err != nil {
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		}
		a, err := decode(entry.Value())
		if err != nil || !a.Pending() {
			return a, false, err
		}
		outcome := outcome
		if outcome == "" {
			if err := a.Check(answer); err != nil {
				return nil, false, err
			}
			outcome = a.outcomeOf(answer)
		}
		if outcome == event.Approved && answer.As != record.TheRules {
			if err := a.SecondPerson.Admits(answer.As); err != nil {
				return nil, false, fmt.Errorf("approval %s: %w", id, err)
			}
		}
		if a.Ask != nil {
			a.Answers, answer.Feedback = a.kept(answer, outcome), secrets.Mask(answer.Feedback)
		}
		a.Outcome, a.Always, a.Feedback = outcome, answer.Verdict == ApproveAlways, answer.Feedback
		a.AnsweredBy, a.AnsweredAs, a.AnsweredAt = answer.By, answer.As, time.Now().UTC()
		data, err := json.Marshal(a)
		if err != nil {
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		}
		_, err = b.kv.Update(ctx, b.index.Key(id), data, entry.Revision())
		switch {
		case eventbus.IsConflict(err): // somebody else's came first: which?
		case err != nil:
			return nil, false, fmt.Errorf("answering approval %s: %w", id, err)
		default:
			return a, true, nil
		}
	}
}

// Open stores an approval that waits for an answer. It sets the approval's schema.
func (b *Bucket) Open(ctx context.Context, a *Approval) error {
	a.Schema = record.Schema
	data, err := json.Marshal(a)
	if err == nil {
		_, err = b.kv.Create(ctx, b.index.Key(a.ID), data)
	}
	if err != nil {
		return fmt.Errorf("storing approval %s: %w", a.ID, err)
	}
	return nil
}

// Await returns the approval of an id once it has its answer. The id must be complete. An
// error comes from the store, or is the cause of the end of ctx.
func (b *Bucket) Await(ctx context.Context, id string) (*Approval, error) {
	watch, err := b.kv.Watch(ctx, b.index.Key(id))
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
			if a, err := decode(e.Value()); err != nil || !a.Pending() {
				return a, err
			}
		}
	}
}

// Purge removes an approval without a trace.
func (b *Bucket) Purge(ctx context.Context, id string) error {
	stream, err := b.bus.JetStream().Stream(ctx, "KV_"+BucketName)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+BucketName+"."+b.index.Key(id)))
}

func decode(data []byte) (*Approval, error) {
	a := new(Approval)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("reading an approval: %w", err)
	}
	return a, record.CheckSchema("approval "+a.ID, a.Schema)
}
