// Package openaimodel is the adapter for OpenAI's Chat Completions API, and for
// the many servers that speak it (DeepSeek, Ollama, vLLM, OpenRouter, …). Of OpenAI's
// SDK it takes what reads events. The rest of the SDK would add 20 MB to a program, since
// it registers the types of the whole API, and has no types for what other servers do.
//
// Nothing is read from the process environment: key and base URL are those of
// [Options], whatever OPENAI_… variables are set. Redirects are not followed,
// since the key would go along.
//
// Where the servers differ, this package does what works for most:
//
//   - The output limit is max_completion_tokens for OpenAI and Azure, whose
//     reasoning models refuse max_tokens, and max_tokens for all others, since
//     Mistral refuses max_completion_tokens and DeepSeek and Ollama ignore it.
//     A request without a limit leaves it to the server.
//   - The system prompt has the role system, which all servers know.
//   - Thinking arrives as reasoning_content or reasoning. It is handed back as
//     reasoning_content, since DeepSeek refuses a conversation with tool calls
//     that lacks any of it (https://api-docs.deepseek.com/guides/thinking_mode);
//     many other servers use or ignore it. OpenAI and Azure never send it and never
//     get it. Mistral and Groq refuse it, as other servers do: after one refusal it
//     is left out.
//   - A tool result has no place to say that it is an error: its text begins
//     with "Error: ".
//   - OpenAI and Azure refuse temperature and top_p of a model that reasons, and
//     from gpt-5.4 on reasoning_effort beside tools: they are left out there. All
//     others get them.
//   - Servers that are not known to take any order of roles get the strict one of chat
//     templates: see roles.go. [provider.Rows] has what is known of each.
//   - What Gemini, OpenRouter and Copilot want back with an answer is kept as it came: see
//     sealed.go.
//   - Servers that ignore tool_choice may answer with tool calls nevertheless.
package openaimodel

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// Options configures a Model.
type Options = openaiwire.Options

var _ model.Model = (*Model)(nil)

// Model is a model that is called by the Chat Completions API.
type Model struct {
	server  *openaiwire.Server
	forgets atomic.Bool // the server has refused messages with what the model has thought
}

// New returns the model that the server calls name. Nil options are the zero
// Options. It does not connect.
func New(name string, opts *Options) *Model {
	api := openaiwire.API{Name: "the Chat Completions API", Path: "/chat/completions", Whole: []string{"choices"}}
	return &Model{server: openaiwire.NewServer(name, api, opts)}
}

// Name implements [model.Model]: the provider and the model's name there.
func (m *Model) Name() string { return m.server.Name() }

// Account implements [model.Accounted].
func (m *Model) Account() string { return m.server.At.Account() }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return m.server.Stream(ctx, func(c *openaiwire.Call) (*http.Response, error) { return m.ask(c, req) }, m.read)
}

// ask sends a request, and again without what the model has thought if the server refuses that.
func (m *Model) ask(c *openaiwire.Call, req *model.Request) (*http.Response, error) {
	body, err := m.body(req)
	if err != nil {
		return nil, c.At.Errorf(model.ErrInvalid, err)
	}
	res, refused := c.Post(body)
	if !c.Left() && m.forget(body, refused) {
		if body, err = m.body(req); err == nil {
			return c.Post(body)
		}
	}
	return res, refused
}

// thoughtsRefused matches what servers say of messages with reasoning_content.
var thoughtsRefused = regexp.MustCompile(`(?i)(unsupported|not permitted|not allowed|forbidden|unknown|unrecognized|unexpected|additional).*reasoning_content|reasoning_content.*(unsupported|not permitted|not allowed|forbidden|unknown|unrecognized|unexpected|additional)`)

// forget reports whether a request is refused since it has what the model has thought. From then on
// none has it.
func (m *Model) forget(body []byte, refused error) bool {
	e, ok := errors.AsType[*model.Error](refused)
	return ok && e.Kind == model.ErrInvalid && bytes.Contains(body, []byte(`"reasoning_content"`)) &&
		thoughtsRefused.MatchString(e.Message) && m.forgets.CompareAndSwap(false, true)
}

// read reads an answer.
func (m *Model) read(c *openaiwire.Call, res *http.Response, flow *endpoint.Flow) {
	streamed := endpoint.EndLine(res)
	events := ssestream.NewDecoder(res)
	var got answer
	var late *time.Timer // ends the reading of an answer that is whole
	for !got.done && events.Next() {
		parts, err := got.add(events.Event().Type, events.Event().Data)
		if streamed.CutOff(err) {
			break
		}
		if err != nil {
			flow.Fail(c.Failed(err))
			return
		}
		if !flow.Add(parts...) {
			return
		}
		switch {
		case got.finish == "":
		case late == nil:
			late = time.AfterFunc(endpoint.AfterFinish, c.Cancel)
			defer late.Stop()
		case len(parts) > 0: // some servers say it in each chunk
			late.Reset(endpoint.AfterFinish)
		}
	}
	if !got.whole(events.Err()) {
		flow.Fail(c.Broken(events.Err()))
		return
	}
	// What breaks after the finish reason takes nothing away.
	parts, err := got.end()
	if err != nil {
		flow.Fail(c.Failed(err))
		return
	}
	if flow.Add(parts...) {
		flow.Flush()
	}
}
