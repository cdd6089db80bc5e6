// Package offlinemodel is a model that needs no key and no network: a keyword
// search over the repository, driven through the tools that a request offers.
// It understands no language. It is there so that a worker answers something
// useful before any key is set, and so that everything around a model can be
// tried and tested the same way twice.
//
// It is a function of the request alone. Each call gathers what the conversation
// holds (conversation.go) and goes one step on. A request for a change is
// declined, and a prompt handed to a subagent where there is a task tool. Else
// the model makes a query of the prompt (query.go), looks for it (search.go),
// ranks what is found (rank.go, topics.go) and answers with the best places
// (answer.go). What it knows of English and of languages stands in tables.
//
// What tools return is material: apart from file names to read, nothing in it
// becomes a call.
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
	"github.com/agentworker/worker/model"
)

// Note ends every answer of the model.
const Note = "_This is the offline model: a keyword search over the repository, without any understanding of language. " +
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

// Stream implements [model.Model]. The same request gives the same parts. It
// fails only if req is nil or asks for an answer that satisfies a schema, or
// with the cause of ctx once that has ended.
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

// turn is one answer of the model: calls, or else text.
type turn struct {
	reasoning string
	calls     []call
	text      string
}

// fewWords matches the pieces in which text is streamed.
var fewWords = regexp.MustCompile(`\s*(?:\S+\s*){1,4}`)

// parts returns the parts of the answer to req.
func parts(req *model.Request) (out []model.Part) {
	next := decide(req, readConversation(req))
	stop, written := model.StopEnd, len(next.reasoning)
	if next.reasoning != "" {
		out = append(out, model.ReasoningDelta{Text: next.reasoning})
	}
	for i, c := range next.calls {
		stop = model.StopToolCalls
		out = append(out, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", len(req.Messages), i+1), Name: c.tool, Arguments: c.arguments()})
		written += len(c.tool) + len(c.arguments())
	}
	if len(next.calls) == 0 {
		text := strings.ToValidUTF8(next.text, "\uFFFD") + "\n\n" + Note
		if most := req.MaxOutputTokens * charsPerToken; most > 0 && len(text) > most {
			text, stop = termtext.Head(text, most), model.StopMaxTokens
		}
		written += len(text)
		for _, piece := range fewWords.FindAllString(text, -1) {
			out = append(out, model.TextDelta{Text: piece})
		}
	}
	asked, _ := json.Marshal([]any{req.System, req.Messages, req.Tools}) // unlike JSON: counts nothing
	usage := model.Usage{InputTokens: int64(len(asked)/charsPerToken + 1), OutputTokens: int64(written/charsPerToken + 1)}
	return append(out, usage, model.Stop{Reason: stop})
}

// decide works out the next turn.
func decide(req *model.Request, talk *conversation) turn {
	if why := decline(talk.prompt); why != "" {
		return turn{text: why}
	}
	tools := map[string]*model.ToolSpec{} // those that may be called
	for i, t := range req.Tools {
		if !req.NoToolCalls {
			tools[t.Name] = &req.Tools[i]
		}
	}
	reports, answered := talk.reports()
	searches := tools["grep"] != nil || tools["read_file"] != nil
	switch {
	case answered, len(reports) > 0 && !searches:
		return turn{text: strings.Join(reports, "\n\n")}
	case len(reports) == 0 && tools[taskTool] != nil && talk.prompt != "":
		return delegate(tools[taskTool], talk.prompt)
	}
	next := research(req.System, tools, talk)
	if len(next.calls) == 0 {
		next.text = strings.Join(append(reports, next.text), "\n\n")
	}
	return next
}

const taskTool = "task"

var (
	taskOutcome = regexp.MustCompile(`(?s)^\s*<task_(result|error)\b[^>]*>\n?(.*?)\n?</task_(?:result|error)>\s*$`)
	wantsJSON   = regexp.MustCompile(`must be one JSON value and nothing else\b.*\bJSON Schema`)
)

// refuse returns why a request cannot be answered at all. An answer in words
// would be sent back, to be corrected.
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

// decline answers a request for a change, which a search is no answer to. "":
// the prompt asks for none.
func decline(prompt string) string {
	prompt = strings.TrimSpace(patterns()["politeness"].ReplaceAllString(prompt, ""))
	verb := patterns()["change"].FindString(prompt)
	if verb == "" || matches("words", prompt) {
		return ""
	}
	return "This asks to " + strings.ToLower(verb) + " something, and the offline model cannot do that: " +
		"it changes no file and runs no command, it only searches. Nothing was changed. " +
		"Ask it where something is or how it works, or set a key for a language model."
}

// delegate hands the prompt to a subagent.
func delegate(task *model.ToolSpec, prompt string) turn {
	words := strings.Fields(strings.ToValidUTF8(termtext.Head(prompt, 60), ""))
	if len(words) < 3 {
		words = strings.Fields("Answer the question")
	}
	description := strings.Join(words[:min(len(words), 6)], " ")
	args := arguments{Description: description, Prompt: prompt, AgentType: chooseAgent(task, prompt)}
	return turn{reasoning: "Handing the question to a subagent.", calls: []call{{taskTool, args}}}
}

// chooseAgent returns the agent that the prompt names, else explore, else the
// first there is.
func chooseAgent(task *model.ToolSpec, prompt string) string {
	var schema struct {
		Properties struct {
			AgentType struct{ Enum []string } `json:"agentType"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(task.InputSchema, &schema) // a schema unlike ours names no agents
	agents := schema.Properties.AgentType.Enum
	for _, a := range agents {
		name := regexp.QuoteMeta(a)
		if regexp.MustCompile(`(?i)(@|\bagent )` + name + `\b|\b` + name + ` (sub)?agent\b`).MatchString(prompt) {
			return a
		}
	}
	if len(agents) == 0 || slices.Contains(agents, "explore") {
		return "explore"
	}
	return agents[0]
}

// reports returns what came of tasks, and whether one has answered: of a result
// element the body, but for our note below it. Text that is not one is taken as
// it is.
func (talk *conversation) reports() (texts []string, answered bool) {
	for _, e := range talk.done {
		if e.call.tool != taskTool {
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
