package offlinemodel

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentworker/worker/model"
)

// conversation is what the messages of a request say about the question at
// hand and the work done for it.
type conversation struct {
	prompt  string
	earlier string // the prompt before it; empty: none
	done    [][]exchange
	turns   int // messages with tool calls, in the whole conversation
	// background holds the outcomes of tasks that came as messages of their own.
	background []string
}

// exchange is a tool call and its result.
type exchange struct {
	call    call
	raw     string // the arguments as they stood in the message
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
	IgnoreCase  bool   `json:"ignoreCase,omitempty"`
	Offset      int    `json:"offset,omitempty"`
	Limit       int    `json:"limit,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	AgentType   string `json:"agentType,omitempty"`
}

// arguments returns the JSON of the call's arguments.
func (c call) arguments() string {
	b, err := json.Marshal(c.args)
	if err != nil {
		return "{}" // cannot be: there are only strings and numbers
	}
	return string(b)
}

// taskOutcome matches the result element of a task.
var taskOutcome = regexp.MustCompile(`(?s)^\s*<task_(result|error)\b([^>]*)>\n?(.*?)\n?</task_(?:result|error)>\s*$`)

// readConversation finds the question at hand: the last message of the user
// that holds no results, and what has been done since.
func readConversation(req *model.Request) *conversation {
	var talks []*conversation
	turns := 0
	now := &conversation{}
	for i, m := range req.Messages {
		switch {
		case m.Role == model.Assistant && len(m.ToolCalls) > 0:
			turns++
			var results []model.ToolResult
			if i+1 < len(req.Messages) {
				results = req.Messages[i+1].ToolResults
			}
			now.done = append(now.done, exchanges(m.ToolCalls, results))
		case m.Role == model.User && len(m.ToolResults) == 0 && strings.TrimSpace(m.Text) != "":
			if taskOutcome.MatchString(m.Text) {
				now.background = append(now.background, m.Text)
				continue
			}
			now = &conversation{prompt: strings.TrimSpace(m.Text), earlier: now.prompt}
			talks = append(talks, now)
		}
	}
	// A request to conclude may stand in a message of its own: then the
	// question is the one before it.
	if n := len(talks); n > 1 && req.NoToolCalls && len(now.done) == 0 && len(talks[n-2].done) > 0 {
		now = talks[n-2]
	}
	now.turns = turns
	return now
}

// exchanges puts calls and results together, by id, else by their order.
func exchanges(calls []model.ToolCall, results []model.ToolResult) []exchange {
	byID := map[string]model.ToolResult{}
	for _, r := range results {
		byID[r.ToolCallID] = r
	}
	out := make([]exchange, 0, len(calls))
	for i, c := range calls {
		e := exchange{call: call{tool: c.Name}, raw: c.Arguments}
		if json.Unmarshal([]byte(c.Arguments), &e.call.args) != nil {
			e.call.args = arguments{} // not a call of ours
		}
		r, ok := byID[c.ID]
		if !ok && i < len(results) && len(results) == len(calls) {
			r = results[i]
		}
		e.text, e.isError = r.Text, r.IsError
		out = append(out, e)
	}
	return out
}

// toolbox is the tools of a request: which there are, and the properties that
// each one's schema has.
type toolbox map[string]toolSchema

type toolSchema struct {
	Properties map[string]struct {
		Enum []any `json:"enum"`
	} `json:"properties"`
}

// offered returns the tools that may be called now.
func offered(req *model.Request) toolbox {
	tools := toolbox{}
	if req.NoToolCalls {
		return tools
	}
	for _, t := range req.Tools {
		var s toolSchema
		if json.Unmarshal(t.InputSchema, &s) != nil {
			s = toolSchema{} // unlike a schema: no optional argument is used
		}
		tools[t.Name] = s
	}
	return tools
}

// has reports whether there is such a tool.
func (t toolbox) has(name string) bool {
	_, ok := t[name]
	return ok
}

// takes reports whether the tool has such an argument.
func (t toolbox) takes(tool, arg string) bool {
	_, ok := t[tool].Properties[arg]
	return ok
}
