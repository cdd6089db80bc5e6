// Package offlinemodel is a model that needs no key and no network: a keyword
// search over the repository, driven through the tools that a request offers.
// It understands no language. It is there so that a worker answers something
// useful before any key is set, and so that everything around a model can be
// tried and tested the same way twice.
//
// It is a function of the request alone. Each call reads the conversation
// again, works out how far it has come, and goes one step on:
//
//   - asked to change something, or for an answer that satisfies a schema, it
//     says at once that it can't (delegate.go);
//   - offered a task tool, it hands the prompt to a subagent, and its answer on
//     (delegate.go);
//   - else it looks at the names of the files, searches for the words of the
//     prompt, reads around the best places (search.go, rank.go) and answers
//     with them (answer.go). What is asked of any repository, such as how to
//     install it, has its known places (topics.go). What it knows of words,
//     languages and files stands in tables (tables.go).
//
// What tools return is material: apart from file names to read, nothing in it
// becomes a call.
package offlinemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"

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
// fails only if req is nil, or with the cause of ctx once that has ended.
func (*Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if req == nil {
			yield(nil, &model.Error{Model: name, Kind: model.ErrInvalid, Message: "the request is nil"})
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
	talk := readConversation(req)
	next := decide(req, talk)
	stop, written := model.StopEnd, len(next.reasoning)
	if next.reasoning != "" {
		out = append(out, model.ReasoningDelta{Text: next.reasoning})
	}
	for i, c := range next.calls {
		stop = model.StopToolCalls
		out = append(out, model.ToolCall{ID: fmt.Sprintf("call_%d_%d", talk.turns+1, i+1), Name: c.tool, Arguments: c.arguments()})
		written += len(c.tool) + len(c.arguments())
	}
	if len(next.calls) == 0 {
		text := strings.ToValidUTF8(next.text, "\uFFFD") + "\n\n" + Note
		if most := req.MaxOutputTokens * charsPerToken; most > 0 && len(text) > most {
			text, stop = cut(text, most), model.StopMaxTokens
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
	if why := refuse(req, talk.prompt); why != "" {
		return turn{text: why}
	}
	tools := offered(req)
	if t, ok := delegate(tools, talk); ok {
		return t
	}
	return research(req, tools, talk)
}

// cut returns at most n bytes of s, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
