package taskt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/session/store"
)

// ErrRunning is the error of [Service.Result] for a child that has not ended.
var ErrRunning = errors.New("it has not ended yet")

// Result returns the result of a child that has ended, in whatever process,
// from the store: the whole answer, or why the child failed. callerID is the
// root session that must have called the child. An empty callerID accepts any
// caller; it is for people alone. A session of another caller, and part of an
// id, are [store.ErrNotFound]. A child that still runs is [ErrRunning].
func (s *Service) Result(ctx context.Context, callerID, sessionID string) (*Result, error) {
	record, err := s.child(ctx, callerID, sessionID)
	switch {
	case err != nil:
		return nil, err
	case !record.Status.Ended():
		return nil, fmt.Errorf("session %s is %s: %w", record.ID, record.Status, ErrRunning)
	}
	result := &Result{
		Agent:     record.Agent,
		SessionID: record.ID,
		Status:    record.Status,
		Record:    *record,
		Duration:  record.Duration(time.Now()),
	}
	if record.Status != store.Completed {
		text := record.Error
		if text == "" {
			text = "the session is " + string(record.Status)
		}
		result.fail(ctx, errors.New(text))
		return result, nil
	}
	result.Text, err = s.sessions.Store().LastAnswer(ctx, record)
	return result, err
}

// Stop ends a child, in whatever process it runs, with all below it. It returns
// the record once the child has ended: cancelled, or however else it has ended
// meanwhile; interrupted if its process is gone. callerID, and the errors for
// another caller's session and for part of an id, are those of
// [Service.Result]; the other errors are those of [store.Store.Stop]. by
// tells people who stops it: "the host's user".
func (s *Service) Stop(ctx context.Context, callerID, sessionID, by string) (*store.Record, error) {
	record, err := s.child(ctx, callerID, sessionID)
	if err != nil {
		return nil, err
	}
	return s.sessions.Store().Stop(ctx, record.ID, by)
}

// child returns the record of a child that the root session callerID has called.
func (s *Service) child(ctx context.Context, callerID, sessionID string) (*store.Record, error) {
	record, err := s.sessions.Store().Get(ctx, sessionID)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrAmbiguous),
		err == nil && (callerID != "" && record.ParentID != callerID || record.ID != sessionID || record.ParentID == ""):
		return nil, &store.NotFoundError{What: "session", ID: sessionID}
	}
	return record, err
}
