package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/user"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// Control calls an operation on sessions, for a command. ids may be the starts of ids.
func Control(ctx context.Context, sessions *store.Store, command, operation string, ids []string, in map[string]any) (control.Answer, error) {
	args := map[string]any{}
	maps.Copy(args, in)
	var full []string
	for _, id := range ids {
		r, err := sessions.Index.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		full = append(full, r.ID)
	}
	if len(full) == 1 {
		args["sessionId"] = full[0]
	} else {
		args["sessionIds"] = full
	}
	data, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return control.New(sessions).Do(ctx, &control.Scope{Workspace: true, By: Operator(command), As: record.Owner}, control.Find(operation), data)
}

// Stop stops a session for a command, and returns how it has ended.
func (s *Storage) Stop(ctx context.Context, command, id string) (string, error) {
	answer, err := Control(ctx, s.Records, command, "task_stop", []string{id}, nil)
	if err != nil {
		return "", err
	}
	var ends []string
	for _, s := range answer.(*control.Stopped).Sessions {
		ends = append(ends, fmt.Sprintf("%s is %s", s.SessionID, s.Status))
	}
	return strings.Join(ends, ", "), nil
}

// MoveCommand has the command that a session waits for go on in its background, for a command.
func (s *Storage) MoveCommand(ctx context.Context, command, id string) (string, error) {
	answer, err := Control(ctx, s.Records, command, "task_background", []string{id}, map[string]any{"command": true})
	if err != nil {
		return "", err
	}
	return answer.Answer(), nil
}

// Answer answers an approval, and returns what it was about.
func (s *Storage) Answer(ctx context.Context, id string, answer approval.Answer) (string, error) {
	if err := s.Recover(ctx); err != nil { // what was killed asks nothing any more
		return "", err
	}
	answer.As = record.Owner // it has the files of the store
	a, err := s.Records.Approvals.Answer(ctx, id, answer)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s", a.Outcome, a.Question.Summary()), nil
}

// Operator names the user of a command, for people.
func Operator(command string) string {
	if u, err := user.Current(); err == nil {
		return u.Username + " by " + command
	}
	return command
}

// lastSteps is how long the subagents that nobody waits for may take to end their steps, at the end
// of a command.
const lastSteps = time.Second

// HandOver ends the running calls of a worker, until ctx ends. Subagents that nobody waits for are
// left to the next worker: see [taskt.Service.Drain].
func HandOver(ctx context.Context, p *Program, a *Worker) {
	if n := a.Tasks.Drain(ctx); n > 0 {
		fmt.Fprintf(p.Stderr, "worker: %s in the background: the next 'worker serve' or 'worker mcp' of this workspace goes on with it, within an hour\n", termtext.Plural(n, "subagent"))
	}
}

// HandOverAtEnd is [HandOver] once the call of a command, or its conversation, has ended: detached
// subagents run on.
func HandOverAtEnd(p *Program, a *Worker) {
	ctx, cancel := context.WithTimeout(context.Background(), lastSteps)
	defer cancel()
	HandOver(ctx, p, a)
}

// Leave is [HandOverAtEnd], and closes the worker.
func Leave(p *Program, a *Worker) error {
	HandOverAtEnd(p, a)
	return a.Close()
}
