package session

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/tool"
)

// maxRepeats is how often in a row a model may make the same calls: the last of
// them is an error that says so, and one more ends the turn.
const maxRepeats = 3

// maxShownArguments bounds what an error shows of the arguments of a call.
const maxShownArguments = 200

// RepeatedCallError tells that a turn ended because the model made the same call
// again and again, though it was told to stop that.
type RepeatedCallError struct {
	Tool      string
	Arguments string // as the model wrote them
	Times     int    // in a row
}

func (e *RepeatedCallError) Error() string {
	return fmt.Sprintf("the agent went round in circles: it made the call %s %s %d times in a row, and was told after %d that this leads nowhere",
		termtext.OneLine(e.Tool, maxShownArguments), termtext.OneLine(e.Arguments, maxShownArguments), e.Times, maxRepeats)
}

// repeats returns how often in a row the model has made the calls of its last
// message, and the first of them that counts. What reads how others are, such as
// task_wait, does not: its answer is another one each time. A message that comes
// between two steps begins a new row.
func (s *Session) repeats() (n int, first model.ToolCall) {
	at := len(s.messages) - 1
	last := s.messages[at].ToolCalls
	i := slices.IndexFunc(last, func(c model.ToolCall) bool { return !s.polls(c.Name) })
	if i < 0 {
		return 0, first
	}
	n = 1
	for at -= 2; at >= 0 && n <= maxRepeats; at -= 2 {
		if len(s.messages[at+1].ToolResults) == 0 || !slices.EqualFunc(last, s.messages[at].ToolCalls, conversation.SameCall) {
			break
		}
		n++
	}
	return n, last[i]
}

// polls reports whether a tool reads how other sessions are.
func (s *Session) polls(name string) bool {
	t := s.tools.Get(name)
	if t == nil {
		return false
	}
	spec := t.Spec()
	return spec.Follows != "" && spec.Follows != name && spec.ReadOnly
}

// refuseRepeated makes an error of a call that is not run since it is the same
// again.
func refuseRepeated(inv *invocation, times int) {
	inv.start = time.Now()
	then := "One more such call ends your task."
	if times > maxRepeats {
		then = "That ends your task."
	}
	inv.end(CallResult{Result: tool.Errorf("%s was not run: it is the same call, with the same arguments, for the %s time in a row. "+
		"You have its result already: do something else, or give your answer with what you have. %s", inv.Name, ordinal(times), then)})
}

func ordinal(n int) string {
	if n == maxRepeats {
		return "third"
	}
	return strconv.Itoa(n) + "th"
}
