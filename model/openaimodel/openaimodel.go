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
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
	"github.com/agentworker/worker/model/provider"
)

// Options configures a Model.
type Options struct {
	Provider  string // its name, which stands before the model's; empty means openai
	APIKey    string // sent as a bearer token; empty means not sent, as local servers allow
	KeyHeader string // that carries the key instead

	// BaseURL is what chat/completions is added to, as the server's
	// documentation has it: http://localhost:11434/v1 for Ollama,
	// https://api.deepseek.com for DeepSeek. Empty means https://api.openai.com/v1.
	BaseURL string

	HTTPClient *http.Client // nil means one on http.DefaultTransport

	// MaxRetries is how often a call is tried again that could not connect, or
	// got a 408, 409, 429 or 5xx. Nil means 2. An answer that has begun is never
	// tried again.
	MaxRetries *int
	// MaxRetryWait is the longest that a Retry-After is waited for; a longer
	// one fails at once, as does one that goes beyond the context's deadline.
	// 0 means one minute.
	MaxRetryWait time.Duration

	// EachDelta gives each piece of an answer as it comes. Else the connection of an answer that
	// streams steadily is read at a pace, and what a read brings of a text is one piece.
	EachDelta bool
}

var _ model.Model = (*Model)(nil)

// Model is a model that is called by the Chat Completions API.
type Model struct {
	name      string // there
	provider  string
	at        endpoint.Endpoint
	known     provider.Row // of the server
	keyHeader string
	retries   endpoint.Retries
	client    *http.Client
	each      bool
	forgets   atomic.Bool // the server has refused messages with what the model has thought
}

// New returns the model that the server calls name. Nil options are the zero
// Options. It does not connect.
func New(name string, opts *Options) *Model {
	var o Options
	if opts != nil {
		o = *opts
	}
	m := &Model{name: name, provider: cmp.Or(o.Provider, "openai"), keyHeader: o.KeyHeader, each: o.EachDelta}
	m.at = endpoint.Endpoint{
		Model: m.Name(), API: "the Chat Completions API", Base: strings.TrimRight(o.BaseURL, "/"),
		Key: strings.TrimSpace(o.APIKey), Hint: ", which may have to end in /v1", Read: openaiwire.ReadRefusal,
	}
	if m.at.Base == "" {
		row, _ := provider.Named("openai")
		m.at.Base = row.Base
	}
	m.known = provider.At(m.at.Base)
	m.retries = endpoint.NewRetries(o.MaxRetries, o.MaxRetryWait)
	m.client = endpoint.WithoutRedirects(o.HTTPClient)
	return m
}

// Name implements [model.Model]: the provider and the model's name there.
func (m *Model) Name() string { return m.provider + "/" + m.name }

// Account implements [model.Accounted].
func (m *Model) Account() string { return m.at.Account() }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		body, err := m.body(req)
		if err != nil {
			yield(nil, m.at.Errorf(model.ErrInvalid, err))
			return
		}
		callCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		tell, left := endpoint.Telling(yield, cancel)
		header := http.Header{"Accept": {"text/event-stream"}}
		switch {
		case m.at.Key == "":
		case m.keyHeader != "":
			header.Set(m.keyHeader, m.at.Key)
		default:
			header.Set("Authorization", "Bearer "+m.at.Key)
		}
		res, refused := m.post(ctx, callCtx, header, body, tell)
		if !left() && m.forget(body, refused) {
			if body, err = m.body(req); err == nil {
				res, refused = m.post(ctx, callCtx, header, body, tell)
			}
		}
		if left() {
			return
		}
		if refused != nil {
			yield(nil, refused)
			return
		}
		defer func() { _ = res.Body.Close() }() // what was read counts, not how it closes
		flow := endpoint.NewFlow(yield)
		if flow.Each = m.each; !m.each {
			defer endpoint.Pace(callCtx, res, flow)()
		}
		m.read(ctx, res, flow, cancel)
	}
}

// post sends a request. It returns the response with the answer, or why there is none.
func (m *Model) post(ctx, call context.Context, header http.Header, body []byte, tell func(model.Retry) bool) (*http.Response, error) {
	res, err := m.retries.Post(call, m.client, m.at.Base+"/chat/completions", header, body, tell)
	if err == nil && (endpoint.IsStream(res) || endpoint.Whole(res, "choices")) {
		return res, nil
	}
	if res != nil {
		defer func() { _ = res.Body.Close() }()
	}
	return nil, m.at.Refused(ctx, res, err)
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
func (m *Model) read(ctx context.Context, res *http.Response, flow *endpoint.Flow, cancel context.CancelFunc) {
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
			flow.Fail(m.failed(err))
			return
		}
		if !flow.Add(parts...) {
			return
		}
		if got.finish != "" && late == nil {
			late = time.AfterFunc(endpoint.AfterFinish, cancel)
			defer late.Stop()
		}
	}
	if !got.whole(events.Err()) {
		flow.Fail(m.at.Broken(ctx, events.Err()))
		return
	}
	// What breaks after the finish reason takes nothing away.
	parts, err := got.end()
	if err != nil {
		flow.Fail(m.failed(err))
		return
	}
	if flow.Add(parts...) {
		flow.Flush()
	}
}
