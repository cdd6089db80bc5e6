package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/session/record"
)

// Resumed returns the record of the session that resumes another one; nil means there is
// none.
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

// Newest returns the record of the newest session of a conversation. If r's session was not
// resumed, that is r itself.
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

// Reserve stores the record of a session that resumes another one, before anything is in
// its log. If several try to resume a session, one succeeds; the others get
// [record.ErrResumed].
func (x *Index) Reserve(ctx context.Context, r *record.Record) error {
	_, err := x.Update(ctx, r, 0)
	if errors.Is(err, ErrConflict) {
		return fmt.Errorf("session %s: %w as session %s", r.Resumes, record.ErrResumed, r.ID)
	}
	return err
}
