// Package offlinemodel is a model that needs no key and no network: a keyword
// search over the repository, driven through the tools that a request offers.
// It understands no language. It is there so that a worker answers something
// useful before any key is set, and so that everything around a model can be
// tried and tested the same way twice.
//
// It is a function of the request alone. Each call reads the conversation
// again, works out how far it has come, and goes one step on:
//
//   - as a researcher it takes the identifiers, paths and rare words of the
//     prompt, searches for them, reads around the best places and answers with
//     them;
//   - offered a task tool, it hands the questions of the prompt to subagents,
//     and their answers on.
//
// What tools return is material: apart from file names to read, and from the
// name of a definition to search the uses of, nothing in it becomes a call.
package offlinemodel

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/model"
)

// Note ends every answer of the model.
const Note = "_This is the offline model: a keyword search over the repository, without any understanding of language. " +
	"Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or --model, for a real one._"

const name = "offline"

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
		for part := range parts(req) {
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

// parts returns the parts of the answer to req.
func parts(req *model.Request) iter.Seq[model.Part] {
	return func(yield func(model.Part) bool) {
		talk := readConversation(req)
		next := decide(req, talk)
		stop := model.StopEnd
		written := 0
		if next.reasoning != "" {
			written += len(next.reasoning)
			if !yield(model.ReasoningDelta{Text: next.reasoning}) {
				return
			}
		}
		if len(next.calls) > 0 {
			stop = model.StopToolCalls
			for i, c := range next.calls {
				tc := model.ToolCall{
					ID:        fmt.Sprintf("call_%d_%d", talk.turns+1, i+1),
					Name:      c.tool,
					Arguments: c.arguments(),
				}
				written += len(tc.Name) + len(tc.Arguments)
				if !yield(tc) {
					return
				}
			}
		} else {
			text := strings.ToValidUTF8(next.text, "\uFFFD")
			if most := req.MaxOutputTokens * charsPerToken; most > 0 && len(text) > most {
				text, stop = cut(text, most), model.StopMaxTokens
			}
			written += len(text)
			for piece := range pieces(text) {
				if !yield(model.TextDelta{Text: piece}) {
					return
				}
			}
		}
		if !yield(model.Usage{InputTokens: tokens(size(req)), OutputTokens: tokens(written)}) {
			return
		}
		yield(model.Stop{Reason: stop})
	}
}

// decide works out the next turn.
func decide(req *model.Request, talk *conversation) turn {
	if why := refuse(req, talk.prompt); why != "" && talk.prompt != "" {
		return turn{text: why + "\n\n" + Note}
	}
	tools := offered(req)
	if t, ok := delegate(tools, talk); ok {
		return t
	}
	return research(req, tools, talk)
}

// charsPerToken is the usual rule of thumb for English text and code.
const charsPerToken = 4

func tokens(chars int) int64 {
	return int64((chars + charsPerToken - 1) / charsPerToken)
}

// size returns how many bytes a request holds.
func size(req *model.Request) int {
	n := len(req.System)
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
		for _, r := range m.ToolResults {
			n += len(r.Text)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	return n
}

// wordsPerPiece is how many words a piece of streamed text has.
const wordsPerPiece = 4

// pieces splits text after every few words. Joined they are the text.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		words, inWord := 0, false
		start := 0
		for i, r := range text {
			space := r == ' ' || r == '\n'
			if !space && !inWord {
				if words == wordsPerPiece {
					if !yield(text[start:i]) {
						return
					}
					start, words = i, 0
				}
				words++
			}
			inWord = !space
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// cut returns at most n bytes of s, without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n = max(n, 0); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n]
}
