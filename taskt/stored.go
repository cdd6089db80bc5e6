package taskt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/session"
)

// ErrRunning is the error of [Service.Result] for a child that has not ended.
var ErrRunning = errors.New("it has not ended yet")

// Result returns the result of a child that has ended, in whatever process,
// from the store: the whole answer, or of a child that has failed why. callerID
// is the root session that must have called the child; empty: any, which is for
// people alone. A session that the caller has not called, and part of an id,
// are [session.ErrNotFound]; one that still runs is [ErrRunning].
func (s *Service) Result(ctx context.Context, callerID, sessionID string) (*Result, error) {
	unknown := &session.NotFoundError{What: "session", ID: sessionID}
	store := s.sessions.Store()
	record, err := store.Get(ctx, sessionID)
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrAmbiguous):
		return nil, unknown
	case err != nil:
		return nil, err
	case callerID != "" && record.ParentID != callerID, record.ID != sessionID, record.ParentID == "":
		return nil, unknown
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
	if record.Status != session.Completed {
		text := record.Error
		if text == "" {
			text = "the session is " + string(record.Status)
		}
		result.fail(ctx, errors.New(text))
		return result, nil
	}
	result.Text, err = store.LastAnswer(ctx, record)
	return result, err
}
