package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/lease"
)

const (
	// stopTimeout bounds [Store.Stop]. It is longer than [lease.Time], after which a
	// process that was killed is known to have gone.
	stopTimeout = 30 * time.Second

	// stopRequest bounds one request: the process may end without answering.
	stopRequest = 5 * time.Second

	// stopRetry is the pause before a process that does not listen, or does not know
	// the session yet, is asked again.
	stopRetry = 100 * time.Millisecond
)

// EndedError tells that the session to stop had ended before. It is an
// [ErrEnded].
type EndedError struct{ Record *Record }

func (e *EndedError) Error() string {
	r := e.Record
	return fmt.Sprintf("session %s does not run: it is %s since %s", r.ID, r.Status, r.EndedAt.Local().Format(time.DateTime))
}

// Is reports whether target is [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// ErrNotStopped is returned for a session that has not ended in time. The request
// stands: it may still end.
var ErrNotStopped = errors.New("it has not ended in time")

// StopRequest asks the process of a session to stop it. The answer has no content: it
// means that the record says how the session has ended.
type StopRequest struct {
	SessionID string `json:"sessionId"`
	By        string `json:"by"`
}

// StopSubject is where the process of a boot id takes requests to stop sessions,
// as the JSON of a [StopRequest].
func (s *Store) StopSubject(bootID string) string {
	return "agents.v1." + s.workspace + ".workers." + bootID + ".stop"
}

// askToStop asks a process once to stop a session.
func (s *Store) askToStop(ctx context.Context, bootID string, request []byte) error {
	bounded, cancel := context.WithTimeout(ctx, stopRequest)
	defer cancel()
	err := s.bus.Request(bounded, s.StopSubject(bootID), request)
	if bounded.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// Stop ends a session and all below it, in whatever process they run. It
// returns the record once all of their events are stored. The status is
// cancelled, or however else it has ended meanwhile; interrupted if its process
// is gone. who tells people who stops it.
//
// Its errors are those of Get, an [*EndedError] for a session that had ended
// before, and [ErrNotStopped] for one that has not ended within 30 s, or before
// ctx has.
func (s *Store) Stop(ctx context.Context, id, who string) (_ *Record, err error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Status.Ended() {
		return r, &EndedError{r}
	}
	data, err := json.Marshal(StopRequest{r.ID, who})
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	// Should the process of the session have gone, this one has looked for long enough
	// to know it, within the time.
	by, err := lease.Start(ctx, s.leases, lease.Options{BootID: NewID("boot")})
	if err != nil {
		return nil, fmt.Errorf("stopping session %s: %w", r.ID, err)
	}
	defer func() { err = errors.Join(err, by.Close(context.WithoutCancel(ctx), false)) }()
	said := "its process, " + r.BootID + ", does not answer"
	for {
		gone, err := by.Gone(ctx, r.BootID)
		if err == nil && gone {
			err = s.recoverBelow(ctx, by, r.ID)
		}
		if err == nil && !gone {
			if err = s.askToStop(ctx, r.BootID, data); errors.Is(err, nats.ErrNoResponders) {
				said, err = "its process takes no requests to stop", nil
			}
		}
		if ctx.Err() != nil {
			return r, fmt.Errorf("stopping session %s: %w: %s", r.ID, ErrNotStopped, said)
		}
		if err != nil {
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		}
		current, err := s.Get(ctx, r.ID)
		if err != nil {
			return r, fmt.Errorf("stopping session %s: %w", r.ID, err)
		}
		if current.Closed {
			return current, nil
		}
		select { // it has only just been opened, or is not closed by whoever ends it
		case <-ctx.Done():
		case <-time.After(stopRetry):
		}
	}
}
