package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// sendTimeout bounds [Store.Send].
	sendTimeout = 10 * time.Second

	// sendRetry is the pause before a process that does not listen, or does not know
	// the session yet, is asked again.
	sendRetry = 100 * time.Millisecond
)

// ErrConcludes is returned for a message to a session whose model is giving its final
// answer or has given it. Such a session takes no more messages.
var ErrConcludes = errors.New("it is giving its answer, and takes no more messages")

// ErrNotSent is returned if the process of the session has not taken the message in
// time. It may still take it.
var ErrNotSent = errors.New("its process has not taken the message in time")

// SendRequest asks the process of a session to have its model read a message.
type SendRequest struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"` // a second message with the same id is ignored
	Text      string `json:"text"`

	// Interrupt ends the step that runs, and drops what was sent before and is not
	// delivered.
	Interrupt bool `json:"interrupt,omitempty"`
}

// SendAnswer is its answer.
type SendAnswer struct {
	Taken     bool `json:"taken"`     // the model will read it
	Concludes bool `json:"concludes"` // it will not: [ErrConcludes]
}

// SendSubject is where the process of a boot id takes messages for its sessions, as
// the JSON of a [SendRequest]. It answers with a [SendAnswer].
func (s *Store) SendSubject(bootID string) string {
	return "agents.v1." + s.workspace + ".workers." + bootID + ".send"
}

// Send has the model of a session read a message before its next step, in whatever
// process it runs, and returns the session's record once the process has taken it.
//
// Its errors are those of Get, an [*EndedError] for a session that has ended,
// [ErrConcludes], and [ErrNotSent] if the process has not answered within 10 s, or
// before ctx has ended.
func (s *Store) Send(ctx context.Context, req SendRequest) (*Record, error) {
	data, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("sending to session %s: %w", req.SessionID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	for {
		r, err := s.Get(ctx, req.SessionID)
		if err != nil {
			return nil, err
		}
		if r.Status.Ended() {
			return r, &EndedError{r}
		}
		answer, err := s.askToSend(ctx, r.BootID, data)
		switch {
		case ctx.Err() != nil:
			return r, fmt.Errorf("session %s: %w", r.ID, ErrNotSent)
		case err != nil:
			return r, fmt.Errorf("sending to session %s: %w", r.ID, err)
		case answer.Taken:
			return r, nil
		case answer.Concludes:
			return r, fmt.Errorf("session %s: %w", r.ID, ErrConcludes)
		}
		select { // it has only just been opened, or has just ended
		case <-ctx.Done():
		case <-time.After(sendRetry):
		}
	}
}

// askToSend asks a process once. One that does not listen does not take it.
func (s *Store) askToSend(ctx context.Context, bootID string, request []byte) (answer SendAnswer, err error) {
	data, err := s.bus.Ask(ctx, s.SendSubject(bootID), request)
	if errors.Is(err, nats.ErrNoResponders) {
		return answer, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	return answer, err
}
