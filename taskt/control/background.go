package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentworker/worker/session/record"
)

// backgroundInput is what task_background takes.
type backgroundInput struct {
	SessionID string `json:"sessionId"`
	Command   bool   `json:"command,omitempty"`
}

func (in *backgroundInput) Sessions() []string { return []string{in.SessionID} }

func (in *backgroundInput) Check() error {
	if in.SessionID == "" {
		return errors.New("sessionId is missing")
	}
	return nil
}

// Moved is the answer of task_background.
type Moved struct {
	SessionID  string        `json:"sessionId"`
	Status     record.Status `json:"status"` // of the session
	Background bool          `json:"background"`
	Command    bool          `json:"command,omitempty"` // it was the command that the session waited for
}

func (in *backgroundInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	r, err := c.get(ctx, scope, in.SessionID)
	if err == nil {
		move := c.store.Requests.MoveToBackground
		if in.Command {
			move = c.store.Requests.MoveCommand
		}
		r, err = move(ctx, r.ID, scope.By)
	}
	if err != nil {
		return nil, err
	}
	return &Moved{r.ID, r.Status, r.Background || !in.Command, in.Command}, nil
}

// Answer implements [Answer].
func (m *Moved) Answer() string {
	if m.Command {
		return fmt.Sprintf("The command that session %s waited for goes on in its background.", m.SessionID)
	}
	return fmt.Sprintf("The subagent in session %s runs in the background. task_wait waits for it.", m.SessionID)
}
