// Package offlinemodel is a model that needs no key and no network. It searches the
// repository for the words of the prompt, with the tools of the request, and shows the
// lines that have most of them.
//
// It is a function of the request: the same request gets the same answer. With a
// task tool and without search tools it hands the prompt to a subagent. Results of tools
// are material: nothing in them becomes a call.
package offlinemodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
)

// Note ends every answer of the model.
const Note = "_This is the offline model. It searches the repository for the words of the prompt, understands none of them, and changes nothing. " +
	"Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or --model, for a real one._"

const (
	name          = "offline"
	charsPerToken = 4 // the usual rule of thumb for English text and code
)

// Model is the offline model. It keeps no state.
type Model struct{}

var _ model.Model = (*Model)(nil)

// New returns the offline model.
func New() *Model { return &Model{} }

// Name implements [model.Model]; it is "offline".
func (*Model) Name() string { return name }

// Stream implements [model.Model]. It fails if req is nil or asks for an answer
// that satisfies a schema, and with the cause of ctx once that has ended.
func (*Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if err := refuse(req); err != nil {
			yield(nil, err)
			return
		}
		for _, part := range parts(req) {
			if ctx.Err() != nil {
				yield(nil, fmt.Errorf("%s: %w", name, context.Cause(ctx)))
				return
			}
			if !yield(part, nil) {
				return
			}
		}
	}
}

var wantsJSON = regexp.MustCompile(`must be one JSON value and nothing else\b.*\bJSON Schema`)

// refuse returns why no answer could satisfy the request, or nil.
func refuse(req *model.Request) error {
	switch {
	case req == nil:
		return &model.Error{Model: name, Kind: model.ErrInvalid, Message: "the request is nil"}
	case wantsJSON.MatchString(req.System):
		return &model.Error{Model: name, Kind: model.ErrInvalid, Message: "this agent's answer must satisfy its output schema, and the offline model " +
			"cannot fill in a schema: it only searches, and quotes what it finds. Choose another model for it, with --model or a key."}
	}
	return nil
}

// call is a tool call with those arguments that this package uses.
type call struct {
	tool string
	args arguments
}

type arguments struct {
	Pattern     string `json:"pattern,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	AgentType   string `json:"agentType,omitempty"`
}

// fewWords matches the pieces in which text is streamed.
var fewWords = regexp.MustCompile(`\s*(?:\S+\s*){1,4}`)

// parts returns the parts of the answer to req.
func parts(req *model.Request) (out []model.Part) {
	stop, written := model.StopEnd, 0
	calls, text := next(req)
	for i, c := range calls {
		args, _ := json.Marshal(c.args) // there are only strings and numbers
		stop, written = model.StopToolCalls, written+len(c.tool)+len(args)
		out = append(out, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", len(req.Messages), i+1), Name: c.tool, Arguments: string(args)})
	}
	if len(calls) == 0 {
		text = strings.ToValidUTF8(text, "\uFFFD") + "\n\n" + Note
		if most := req.MaxOutputTokens * charsPerToken; most > 0 && len(text) > most {
			text, stop = termtext.Head(text, most), model.StopMaxTokens
		}
		written = len(text)
		for _, piece := range fewWords.FindAllString(text, -1) {
			out = append(out, model.TextDelta{Text: piece})
		}
	}
	asked, _ := json.Marshal([]any{req.System, req.Messages, req.Tools}) // a schema that is no JSON counts nothing
	usage := model.Usage{InputTokens: int64(len(asked)/charsPerToken + 1), OutputTokens: int64(written/charsPerToken + 1)}
	return append(out, usage, model.Stop{Reason: stop})
}

// next returns the tool calls of the next turn or, if there are none, its text.
func next(req *model.Request) (calls []call, text string) {
	tools := map[string]*model.ToolSpec{} // the tools that may be called
	for i, t := range req.Tools {
		if !req.NoToolCalls {
			tools[t.Name] = &req.Tools[i]
		}
	}
	prompt, done := read(req)
	reports, answered := reportsOf(done)
	grep := tools[toolcatalog.Grep] != nil
	switch {
	case answered, len(reports) > 0 && !grep:
		return nil, strings.Join(reports, "\n\n")
	case prompt == "":
		return nil, "There is no question in this conversation."
	case len(reports) == 0 && tools[toolcatalog.Task] != nil:
		return []call{delegate(tools[toolcatalog.Task], prompt)}, ""
	}
	s := newSearch(prompt, done)
	switch calls := s.calls(); {
	case len(calls) > 0 && grep:
		return calls, ""
	case len(calls) > 0:
		return nil, "The repository can't be searched: no tool for that may be called. The question stays open: " + shorten(prompt)
	}
	return nil, strings.Join(append(reports, s.answer()), "\n\n")
}

// exchange is a tool call and its result.
type exchange struct {
	call    call
	text    string // of the result
	isError bool
}

// read returns the last prompt, and the calls that were made for it.
func read(req *model.Request) (prompt string, done []exchange) {
	calls := map[string]call{} // by id
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			var args arguments
			_ = json.Unmarshal([]byte(c.Arguments), &args) // calls of other models may fail
			calls[c.ID] = call{c.Name, args}
		}
		for _, r := range m.ToolResults {
			done = append(done, exchange{calls[r.ToolCallID], r.Text, r.IsError})
		}
		switch text := strings.TrimSpace(m.Text); {
		case m.Role != model.User || len(m.ToolResults) > 0 || text == "":
		case taskOutcome.MatchString(text): // of a background task
			done = append(done, exchange{call{tool: toolcatalog.Task}, text, false})
		case req.NoToolCalls && len(done) > 0: // the request to conclude
		default:
			prompt, done = text, nil
		}
	}
	return prompt, done
}

var taskOutcome = regexp.MustCompile(`(?s)^\s*<task_(result|error)\b[^>]*>\n?(.*?)\n?</task_(?:result|error)>\s*$`)

// delegate hands the prompt to the agent that it names, else to explore, else to
// the first one.
func delegate(task *model.ToolSpec, prompt string) call {
	var schema struct {
		Properties struct {
			AgentType struct{ Enum []string } `json:"agentType"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(task.InputSchema, &schema) // another schema names no agents
	agents, agent := schema.Properties.AgentType.Enum, "explore"
	if len(agents) > 0 && !slices.Contains(agents, agent) {
		agent = agents[0]
	}
	for _, a := range agents {
		quoted := regexp.QuoteMeta(a)
		if regexp.MustCompile(`(?i)(@|\bagent )` + quoted + `\b|\b` + quoted + ` (sub)?agent\b`).MatchString(prompt) {
			agent = a
			break
		}
	}
	return call{toolcatalog.Task, arguments{Description: "Answer the question", Prompt: prompt, AgentType: agent}}
}

// reportsOf returns the outcomes of tasks, and whether one of them is an answer.
func reportsOf(done []exchange) (texts []string, answered bool) {
	for _, e := range done {
		if e.call.tool != toolcatalog.Task {
			continue
		}
		text, failed := e.text, e.isError
		if m := taskOutcome.FindStringSubmatch(text); m != nil {
			failed, text = failed || m[1] == "error", m[2]
		}
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), Note))
		if failed {
			text = "The task failed: " + text
		}
		answered = answered || !failed
		texts = append(texts, cmp.Or(text, "The agent has given no answer."))
	}
	return texts, answered
}
