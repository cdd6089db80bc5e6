package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/session/record"
)

const (
	// askTimeout bounds a request to the process of a session.
	askTimeout = 10 * time.Second

	// askRetry is the pause between two requests to a process that does not listen, or does
	// not know the session yet.
	askRetry = 100 * time.Millisecond
)

// ErrNotSent is returned if the session's process has not accepted a request in time. It
// may still accept it.
var ErrNotSent = errors.New("its process has not taken it in time")

// RequestAnswer is what a process answers to a request about a session. The zero value
// means that the process does not know the session, or can't do it yet.
type RequestAnswer struct {
	Taken     bool   `json:"taken"`             // it is accepted: done, or about to be done
	Concludes bool   `json:"concludes"`         // it is refused with [ErrConcludes]
	Refused   string `json:"refused,omitempty"` // why it is refused otherwise; empty means it is not
}

// RefusedError says why a process refuses a request about a session.
type RefusedError struct{ SessionID, Why string }

func (e *RefusedError) Error() string { return fmt.Sprintf("session %s: %s", e.SessionID, e.Why) }

// ask sends a request about a session to its process until that process answers. It returns
// the session's record once the process has accepted the request.
func (s *Sender) ask(ctx context.Context, id string, subject func(bootID string) string, request any) (*record.Record, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("sending to session %s: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		r, err := s.index.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if r.Status.Ended() {
			return r, &record.EndedError{Record: r}
		}
		answer, err := s.askOnce(ctx, subject(r.BootID), data)
		switch {
		case ctx.Err() != nil:
			return r, fmt.Errorf("session %s: %w", r.ID, ErrNotSent)
		case err != nil:
			return r, fmt.Errorf("sending to session %s: %w", r.ID, err)
		case answer.Taken:
			return r, nil
		case answer.Concludes:
			return r, fmt.Errorf("session %s: %w", r.ID, ErrConcludes)
		case answer.Refused != "":
			return r, &RefusedError{r.ID, answer.Refused}
		}
		select { // it has only just been opened, or has just ended
		case <-ctx.Done():
		case <-time.After(askRetry):
		}
	}
}

// askOnce sends a request once. If the process does not listen, the answer is zero.
func (s *Sender) askOnce(ctx context.Context, subject string, request []byte) (answer RequestAnswer, err error) {
	data, err := s.bus.Store().Ask(ctx, subject, request)
	if errors.Is(err, nats.ErrNoResponders) {
		return answer, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	return answer, err
}
