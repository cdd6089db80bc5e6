package replaymodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
)

// Turn returns the turn that answers req, complete: ids and arguments of tool calls,
// the stop reason, and the kind, status and message of an error are filled in.
func (s Script) Turn(req *model.Request) (Turn, error) {
	best, bestFrom, found := Match{}, 0, false
	for _, turn := range s {
		from, ok := turn.Match.find(req)
		if ok && (!found || from > bestFrom || from == bestFrom && turn.Match.conditions() > best.conditions()) {
			best, bestFrom, found = turn.Match, from, true
		}
	}
	if !found {
		return Turn{}, fmt.Errorf("the script has no turn whose match fits the request (system prompt %q, last text %q)",
			excerpt(req.System), excerpt(lastText(req)))
	}
	n := answers(req.Messages[bestFrom:])
	for _, turn := range s {
		if turn.Match != best {
			continue
		}
		if n == 0 || turn.Repeat {
			return turn.complete(answers(req.Messages)), nil
		}
		n--
	}
	return Turn{}, fmt.Errorf("the script has no turn for answer %d of the group with match %+v",
		1+answers(req.Messages[bestFrom:]), best)
}

// find reports whether m holds for req, and from which message on.
func (m Match) find(req *model.Request) (from int, ok bool) {
	if !strings.Contains(req.System, m.System) || m.NoToolCalls && !req.NoToolCalls || !m.offered(req.Tools) {
		return 0, false
	}
	if m.User != "" {
		i := lastIndex(req.Messages, func(msg model.Message) bool {
			return msg.Role == model.User && strings.Contains(msg.Text, m.User)
		})
		if i < 0 {
			return 0, false
		}
		from = i
	}
	if m.Result != "" {
		i := lastIndex(req.Messages, func(msg model.Message) bool {
			for _, result := range msg.ToolResults {
				if strings.Contains(result.Text, m.Result) {
					return true
				}
			}
			return false
		})
		if i < 0 {
			return 0, false
		}
		from = max(from, i)
	}
	if m.NoToolCalls {
		from = len(req.Messages)
	}
	return from, true
}

// offered reports whether m's condition on tools holds.
func (m Match) offered(tools []model.ToolSpec) bool {
	return m.Tool == "" || slices.ContainsFunc(tools, func(t model.ToolSpec) bool {
		return strings.Contains(t.Name+"\n"+t.Description+"\n"+string(t.InputSchema), m.Tool)
	})
}

// conditions counts the conditions of m.
func (m Match) conditions() int {
	n := 0
	for _, set := range []bool{m.System != "", m.User != "", m.Result != "", m.Tool != "", m.NoToolCalls} {
		if set {
			n++
		}
	}
	return n
}

// complete returns t with what it leaves out filled in. The ids that it makes
// up are unique in a conversation that has answered n times before.
func (t Turn) complete(n int) Turn {
	calls := make([]ToolCall, len(t.ToolCalls))
	for i, call := range t.ToolCalls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", n+1, i+1)
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
		calls[i] = call
	}
	t.ToolCalls = calls
	if t.Stop == "" {
		t.Stop = model.StopEnd
		if len(calls) > 0 {
			t.Stop = model.StopToolCalls
		}
	}
	if t.Error != nil {
		t.Error = t.Error.complete()
	}
	return t
}

func answers(messages []model.Message) int {
	n := 0
	for _, msg := range messages {
		if msg.Role == model.Assistant {
			n++
		}
	}
	return n
}

func lastIndex(messages []model.Message, ok func(model.Message) bool) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if ok(messages[i]) {
			return i
		}
	}
	return -1
}

func lastText(req *model.Request) string {
	i := lastIndex(req.Messages, func(msg model.Message) bool { return msg.Role == model.User && msg.Text != "" })
	if i < 0 {
		return ""
	}
	return req.Messages[i].Text
}

// excerpt returns the beginning of a text, for an error.
func excerpt(text string) string {
	const most = 60
	return termtext.Cut(text, most)
}
