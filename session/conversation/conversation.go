package conversation

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// Conversation is what the model of a session is sent. The turn that runs is its only user,
// besides a tool that forks it while its call runs: no lock guards it.
type Conversation struct {
	Messages []model.Message // not to be changed by others

	task      int             // which message is the task
	callIDs   map[string]bool // the ids that calls have
	counted   Counted
	offered   []model.ToolSpec // the tools in the last request
	inherited []model.ToolSpec // the tools of all requests; nil means the current ones
}

// New returns an empty conversation.
func New() *Conversation { return &Conversation{callIDs: make(map[string]bool)} }

// Resume begins the conversation with the messages of another one, and the index of its task.
// All requests then have these tools, unless tools is nil. foreign says that another model has
// answered there. Its reasoning is left out, because a provider accepts only its own.
func (c *Conversation) Resume(messages []model.Message, task int, tools []model.ToolSpec, foreign bool) {
	c.Messages, c.task, c.inherited = slices.Clip(messages), task, tools
	if foreign {
		c.ForgetReasoning()
	}
	for _, m := range c.Messages {
		for _, call := range m.ToolCalls {
			c.callIDs[call.ID] = true
		}
	}
}

// Fork returns the last turns, or [AllTurns], of the request whose answer made the running calls,
// and its tools. It returns false if there is no such request.
func (c *Conversation) Fork(turns int) (messages []model.Message, tools []model.ToolSpec, ok bool) {
	n := len(c.Messages)
	if n < 2 || c.Messages[n-1].Role != model.Assistant {
		return nil, nil, false
	}
	return slices.Clone(c.Messages[From(c.Messages[:n-1], turns) : n-1]), c.offered, true
}

// Tell adds a message of the user.
func (c *Conversation) Tell(text string, images ...model.Image) {
	c.Messages = append(c.Messages, model.Message{Role: model.User, Text: text, Images: images})
}

// BeginTask makes the next message the task.
func (c *Conversation) BeginTask() { c.task = len(c.Messages) }

// Task returns the message with the task.
func (c *Conversation) Task() model.Message { return c.Messages[c.task] }

// Answer adds an answer of the model. The request and the answer have so many tokens.
func (c *Conversation) Answer(m model.Message, tokens int64) {
	c.Messages = append(c.Messages, m)
	c.counted = Counted{Messages: len(c.Messages), Tokens: tokens}
}

// CutOff adds what was seen of an answer that the model has not completed.
func (c *Conversation) CutOff(text string) {
	c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: text})
}

// Results adds the results of calls.
func (c *Conversation) Results(m model.Message) { c.Messages = append(c.Messages, m) }

// Identify gives a call an id of its own if the model has used its id before.
func (c *Conversation) Identify(call model.ToolCall, newID func() string) model.ToolCall {
	if call.ID == "" || c.callIDs[call.ID] {
		call.ID = newID()
	}
	c.callIDs[call.ID] = true
	return call
}

// Offer returns the tools of the next request: the inherited ones, if there are any, else the
// current ones. The gate refuses inherited tools that the session may not call.
func (c *Conversation) Offer(current func() []model.ToolSpec) []model.ToolSpec {
	if c.offered = c.inherited; c.offered == nil {
		c.offered = current()
	}
	return c.offered
}

// Estimate returns about how many tokens a request has.
func (c *Conversation) Estimate(req *model.Request) int64 { return c.counted.Estimate(req) }

// EstimateNext is Estimate for the next request, with this system prompt.
func (c *Conversation) EstimateNext(system string) int64 {
	return c.counted.Estimate(&model.Request{System: system, Messages: c.Messages, Tools: c.offered})
}

// ChangeModel makes the conversation one for another agent. newModel says that it has another
// model.
func (c *Conversation) ChangeModel(newModel bool) {
	c.inherited, c.counted = nil, Counted{}
	if newModel {
		c.ForgetReasoning()
	}
}

// ForgetReasoning leaves out what models have thought, in a copy of the messages.
func (c *Conversation) ForgetReasoning() {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		c.Messages[i].Reasoning = nil
	}
}

// KeepLast returns where the last steps begin that fit into room bytes, at least one, and the
// messages before them, without the task. If a step does not fit, its results are cut.
func (c *Conversation) KeepLast(room int) (kept int, older []model.Message) {
	before := Bytes(c.Messages)
	kept, c.Messages = lastSteps(c.Messages, c.task, room)
	if Bytes(c.Messages) < before {
		c.counted = Counted{}
	}
	return kept, slices.Concat(c.Messages[:c.task], c.Messages[c.task+1:kept])
}

// Compact has the conversation go on with the task, a text, and its messages from kept on. It
// returns how many messages are behind the task before, and how many of these are kept.
func (c *Conversation) Compact(text string, kept int) (fromTask, fromKept int) {
	n := len(c.Messages)
	fromTask, fromKept = n-c.task, n-kept
	c.Messages = slices.Concat([]model.Message{c.Task(), {Role: model.User, Text: text}}, c.Messages[kept:])
	c.task, c.counted = 0, Counted{}
	return fromTask, fromKept
}

// Repeats returns how often in a row the model has made the calls of its last message with the
// same results, up to most+1 times, and the first call that counts. Calls that
// poll don't count: they may get another answer each time. A message between two steps begins a
// new row.
func (c *Conversation) Repeats(most int, polls func(name string) bool) (n int, first model.ToolCall) {
	at := len(c.Messages) - 1
	last := c.Messages[at].ToolCalls
	i := slices.IndexFunc(last, func(c model.ToolCall) bool { return !polls(c.Name) })
	if i < 0 {
		return 0, first
	}
	n = 1
	for at -= 2; at >= 0 && n <= most; at -= 2 {
		results := c.Messages[at+1].ToolResults
		if len(results) == 0 || !slices.EqualFunc(last, c.Messages[at].ToolCalls, SameCall) {
			break
		}
		if n > 1 && !slices.EqualFunc(results, c.Messages[at+3].ToolResults, sameResult) {
			break
		}
		n++
	}
	return n, last[i]
}

// NotRunAgain is in the result of a call that was not run because it repeats others.
const NotRunAgain = "was not run: it is the same call, with the same arguments and the same result,"

// sameResult reports whether a call had the result of the same call before it.
func sameResult(before, after model.ToolResult) bool {
	same := func(a, b model.Image) bool { return a.SHA256 == b.SHA256 }
	return before.Text == after.Text && before.IsError == after.IsError && slices.EqualFunc(before.Images, after.Images, same) || after.IsError && strings.Contains(after.Text, NotRunAgain)
}
