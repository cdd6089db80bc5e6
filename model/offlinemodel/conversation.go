package offlinemodel

import (
	"encoding/json"
	"strings"

	"github.com/agentworker/worker/model"
)

// conversation is what the messages of a request say about the question at
// hand and the work done for it.
type conversation struct {
	prompt  string
	earlier string // the prompt before it; empty: none
	done    [][]exchange
	turns   int       // messages with tool calls, in the whole conversation
	tasks   []outcome // what came of tasks
}

// exchange is a tool call and its result.
type exchange struct {
	call    call
	text    string // the result
	isError bool
}

// call is a tool call. It holds the arguments that this package makes use of.
type call struct {
	tool string
	args arguments
}

type arguments struct {
	Path        string `json:"path,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
	Offset      int    `json:"offset,omitempty"`
	Limit       int    `json:"limit,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	AgentType   string `json:"agentType,omitempty"`
}

// arguments returns the JSON of the call's arguments.
func (c call) arguments() string {
	b, _ := json.Marshal(c.args) // there are only strings and numbers
	return string(b)
}

// readConversation finds the question at hand: the last message of the user
// that holds no results, and what has been done since.
func readConversation(req *model.Request) *conversation {
	now, before, turns := &conversation{}, (*conversation)(nil), 0
	for i, m := range req.Messages {
		switch {
		case m.Role == model.Assistant && len(m.ToolCalls) > 0:
			turns++
			var results []model.ToolResult
			if i+1 < len(req.Messages) {
				results = req.Messages[i+1].ToolResults
			}
			now.add(m.ToolCalls, results)
		case m.Role != model.User || len(m.ToolResults) > 0 || strings.TrimSpace(m.Text) == "":
		case taskOutcome.MatchString(m.Text):
			now.tasks = append(now.tasks, readOutcome(m.Text, false))
		default:
			before = now
			now = &conversation{prompt: strings.TrimSpace(m.Text), earlier: now.prompt}
		}
	}
	// A request to conclude may stand in a message of its own: then the
	// question is the one before it.
	if before != nil && req.NoToolCalls && len(now.done) == 0 && len(before.done)+len(before.tasks) > 0 {
		now = before
	}
	now.turns = turns
	return now
}

// add adds the calls of one turn with their results.
func (talk *conversation) add(calls []model.ToolCall, results []model.ToolResult) {
	byID := map[string]model.ToolResult{}
	for _, r := range results {
		byID[r.ToolCallID] = r
	}
	var step []exchange
	for _, c := range calls {
		r := byID[c.ID]
		if c.Name == taskTool {
			talk.tasks = append(talk.tasks, readOutcome(r.Text, r.IsError))
			continue
		}
		e := exchange{call{tool: c.Name}, r.Text, r.IsError}
		if json.Unmarshal([]byte(c.Arguments), &e.call.args) != nil {
			e.call.args = arguments{} // not a call of ours
		}
		step = append(step, e)
	}
	if len(step) > 0 {
		talk.done = append(talk.done, step)
	}
}

// toolbox is the tools that may be called now, each with the agents it starts.
type toolbox map[string][]string

func offered(req *model.Request) toolbox {
	tools := toolbox{}
	for _, t := range req.Tools {
		var schema struct {
			Properties struct {
				AgentType struct{ Enum []string } `json:"agentType"`
			} `json:"properties"`
		}
		if json.Unmarshal(t.InputSchema, &schema) != nil {
			schema.Properties.AgentType.Enum = nil // unlike a schema of ours
		}
		if !req.NoToolCalls {
			tools[t.Name] = schema.Properties.AgentType.Enum
		}
	}
	return tools
}

func (t toolbox) has(name string) bool { _, ok := t[name]; return ok }
