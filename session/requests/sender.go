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

	// askRetry is the pause before a process that does not listen, or does not know
	// the session yet, is asked again.
	askRetry = 100 * time.Millisecond
)

// ErrNotSent is returned if the process of the session has not taken what it was sent
// in time. It may still take it.
var ErrNotSent = errors.New("its process has not taken it in time")

// RequestAnswer is what a process answers to a request about a session. The zero value
// says that the session is not known there, or not yet as far.
type RequestAnswer struct {
	Taken     bool   `json:"taken"`             // it is done, or will be
	Concludes bool   `json:"concludes"`         // it will not: [ErrConcludes]
	Refused   string `json:"refused,omitempty"` // why it will not; empty means for no other reason
}

// RefusedError tells why a process does not do what was asked of a session.
type RefusedError struct{ SessionID, Why string }

func (e *RefusedError) Error() string { return fmt.Sprintf("session %s: %s", e.SessionID, e.Why) }

// ask sends a request about a session to its process until that has answered, and
// returns the session's record once it has taken the request.
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

// askOnce asks a process once. One that does not listen does not take it.
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
