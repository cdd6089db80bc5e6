// Package anthropicmodel is the adapter for Anthropic's Messages API, and for
// servers that speak it, on Anthropic's own SDK.
//
// Nothing is read from the process environment: key and base URL are those of
// [Options], whatever ANTHROPIC_… variables are set. Redirects are not
// followed, since the key would go along.
//
// The system prompt, the tools and the last two messages of the user are marked as prompt cache
// breakpoints. The next call of a conversation reads from the cache what this
// one has sent
// (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
//
// Temperature and top_p are not sent to models that refuse them, Claude Opus 4.7
// and Claude 5 and later, nor top_p beside a temperature to those before. Effort
// is output_config.effort, from Claude Opus 4.5 and Sonnet 4.6 on.
package anthropicmodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/provider"
)

// defaultMaxOutputTokens is for requests that know no limit: every Claude model since 3.5 allows it.
const defaultMaxOutputTokens = 8192

// Options configures a Model.
type Options struct {
	Provider string // its name, which stands before the model's; empty means anthropic

	APIKey  string // sent as X-Api-Key; empty means no key is sent
	BaseURL string // with or without "/v1" at its end; empty means https://api.anthropic.com

	HTTPClient *http.Client // nil means one on http.DefaultTransport

	// MaxRetries is how often a call is tried again that could not connect, or
	// got a 408, 409, 429 or 5xx. Nil means 2. An answer that has begun is never
	// tried again.
	MaxRetries *int
	// MaxRetryWait is the longest that a Retry-After is waited for; a longer
	// one fails at once, as does one that goes beyond the context's deadline.
	// 0 means one minute.
	MaxRetryWait time.Duration
}

var _ model.Model = (*Model)(nil)

// Model is a model of Anthropic.
type Model struct {
	name     string // there
	shown    string // its name with the mark of a long window, if it has one
	provider string
	unsigned bool // its server wants reasoning back that it has not signed
	at       endpoint.Endpoint
	retries  endpoint.Retries
	messages anthropic.MessageService
}

// New returns the model that Anthropic calls name. With the mark of a long window, NAME[1m], its server
// is asked for that ([model.LongBeta]). Nil options are the zero Options. It does not connect.
func New(name string, opts *Options) *Model {
	var o Options
	if opts != nil {
		o = *opts
	}
	m := &Model{shown: name, provider: cmp.Or(o.Provider, "anthropic")}
	var long bool
	m.name, long = model.CutLong(name)
	m.at = endpoint.Endpoint{
		Model: m.Name(), API: "the Messages API", Base: o.BaseURL, Key: strings.TrimSpace(o.APIKey), Read: readRefusal,
	}
	if m.at.Base == "" {
		row, _ := provider.Named("anthropic")
		m.at.Base = row.Base
	}
	m.unsigned = ownReasoning(m.at.Base)
	// The SDK adds v1/messages.
	m.at.Base = strings.TrimSuffix(strings.TrimRight(m.at.Base, "/"), "/v1")
	m.retries = endpoint.NewRetries(o.MaxRetries, o.MaxRetryWait)
	// A service, unlike a client, reads nothing from the environment, once
	// tracing is off.
	requestOptions := []option.RequestOption{
		option.WithoutOpenTelemetry(),
		option.WithBaseURL(m.at.Base),
		option.WithHTTPClient(endpoint.WithoutRedirects(o.HTTPClient)),
		option.WithMaxRetries(m.retries.Max),
	}
	if long {
		requestOptions = append(requestOptions, option.WithHeader("Anthropic-Beta", model.LongBeta))
	}
	if m.at.Key != "" {
		requestOptions = append(requestOptions, option.WithAPIKey(m.at.Key))
	}
	m.messages = anthropic.NewMessageService(requestOptions...)
	return m
}

// ownReasoning reports whether a server is another one than Anthropic's, which refuses reasoning without
// a signature. DeepSeek and Kimi sign none, and refuse a request that lacks what they have thought:
// https://github.com/NousResearch/hermes-agent/pull/17510
func ownReasoning(base string) bool {
	at, err := url.Parse(base)
	return err == nil && at.Hostname() != "api.anthropic.com"
}

// Name implements [model.Model]: the provider and the model's name there.
func (m *Model) Name() string { return m.provider + "/" + m.shown }

// Account implements [model.Accounted].
func (m *Model) Account() string { return m.at.Account() }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		params, err := m.params(req)
		if err != nil {
			yield(nil, m.at.Errorf(model.ErrInvalid, err))
			return
		}
		callCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		tell, left := endpoint.Telling(yield, cancel)
		var res *http.Response
		stream := m.messages.NewStreaming(callCtx, params, option.WithResponseInto(&res), option.WithMiddleware(m.retries.Middleware(tell)))
		defer func() { _ = stream.Close() }() // what was read counts, not how it closes
		if left() {
			return
		}
		if err := stream.Err(); err != nil || !endpoint.IsStream(res) {
			yield(nil, m.at.Refused(ctx, res, err))
			return
		}
		flow := endpoint.NewFlow(yield)
		defer endpoint.Pace(callCtx, res, flow)()
		m.read(ctx, res, flow, cancel)
	}
}

// read reads an answer.
func (m *Model) read(ctx context.Context, res *http.Response, flow *endpoint.Flow, cancel context.CancelFunc) {
	streamed := endpoint.EndLine(res)
	events := ssestream.NewDecoder(res)
	var answer answer
	var late *time.Timer // ends the reading of an answer that is whole
	var broken error
	for broken == nil && events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if text, ok := answer.repeated.Text(data); ok {
			event := answer.last
			event.Delta.Text, event.Delta.Thinking = text, text // which of them counts, its type says
			if !flow.Add(answer.add(event)...) {
				return
			}
			continue
		}
		if !bytes.HasPrefix(data, []byte("{")) {
			continue // it keeps the connection alive
		}
		var event anthropic.MessageStreamEventUnion
		if broken = json.Unmarshal(data, &event); broken != nil {
			if streamed.CutOff(broken) {
				broken = nil
			}
			break
		}
		if event.Type == "error" || event.Type == "" && bytes.Contains(data, []byte(`"error"`)) || events.Event().Type == "error" {
			flow.Fail(m.sent(data))
			return
		}
		answer.learn(data, event)
		if !flow.Add(answer.add(event)...) {
			return
		}
		if answer.complete {
			flow.Flush()
			return
		}
		if answer.stop != "" && late == nil {
			late = time.AfterFunc(endpoint.AfterFinish, cancel)
			defer late.Stop()
		}
	}
	if answer.stop == "" {
		flow.Fail(m.at.Broken(ctx, cmp.Or(broken, events.Err())))
		return
	}
	// What breaks after the stop reason takes nothing away.
	if flow.Add(answer.finish()...) {
		flow.Flush()
	}
}
