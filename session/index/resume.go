package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/record"
)

// Next returns the record of the session that goes on with the conversation of another
// one; nil means there is none.
func (x *Index) Resumed(ctx context.Context, id string) (*record.Record, error) {
	r, _, err := x.Read(ctx, record.ResumedID(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return x.current(ctx, r)
}

// NewestRun returns the record of the newest run of a session: its own, if it was
// not resumed.
func (x *Index) Newest(ctx context.Context, r *record.Record) (*record.Record, error) {
	for r.Status.Ended() {
		next, _, err := x.Read(ctx, record.ResumedID(r.ID))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		x.Settle(ctx, next.ID)
		if next, err = x.Get(ctx, next.ID); err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

// Reserve stores the record of a session that resumes another one, before anything
// is in its log. Of all that would resume a session one succeeds; the others get
// [ErrResumed].
func (x *Index) Reserve(ctx context.Context, r *record.Record) error {
	_, err := x.Update(ctx, r, 0)
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("session %s: %w as session %s", r.Resumes, record.ErrResumed, r.ID)
	}
	return err
}
