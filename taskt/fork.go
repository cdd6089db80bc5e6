package taskt

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/session"
)

// ForkContext is how much of its caller's conversation a subagent goes on from: a
// number of turns, or [session.AllTurns]; 0 means none. Its JSON is "all", "none" or the
// number.
type ForkContext int

// MarshalJSON implements [json.Marshaler].
func (f ForkContext) MarshalJSON() ([]byte, error) {
	switch f {
	case session.AllTurns:
		return []byte(`"all"`), nil
	case 0:
		return []byte(`"none"`), nil
	}
	return json.Marshal(int(f))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *ForkContext) UnmarshalJSON(data []byte) error {
	var n int
	switch string(data) {
	case `"all"`:
		*f = session.AllTurns
		return nil
	case `"none"`:
		*f = 0
		return nil
	}
	if err := json.Unmarshal(data, &n); err != nil || n < 1 || n > agentdefs.MaxForkTurns {
		return fmt.Errorf("forkContext is %.40s: write \"all\", or how many turns, 1 to %d", data, agentdefs.MaxForkTurns)
	}
	*f = ForkContext(n)
	return nil
}

// forkIntro stands between the conversation of the caller and what the subagent is
// told.
const forkIntro = `What stands above is the conversation of the agent that has called you, up to its call. It is what you know; what it was ` +
	`asked is not your task. From here on you are another agent, with the instructions below. Tools that you may not use are refused.

`

// fork has the child that is to be opened go on from the conversation of its parent,
// if the call or its agent's file says so, and returns what it is told. Callers
// without a conversation have none to go on from: then the file counts for nothing.
func (c *call) fork(spec *session.Spec) (prompt string, err error) {
	turns := c.def.ForkContext
	if c.in.ForkContext != nil {
		turns = int(*c.in.ForkContext)
	}
	if turns == 0 || c.resumes != nil { // its conversation has what it went on from
		return c.in.Prompt, nil
	}
	if spec.Fork = c.parent.Fork(turns); spec.Fork == nil {
		if c.in.ForkContext != nil {
			return "", errors.New("forkContext: you have no conversation here that a subagent could go on from; leave it out, and put what it needs to know into the prompt")
		}
		return c.in.Prompt, nil
	}
	state := c.parent.StateText()
	if state != "" {
		state = "What the agent that has called you has noted:\n" + state + "\n"
	}
	return forkIntro + state + spec.System + "\n\nYour task:\n" + c.in.Prompt, nil
}
