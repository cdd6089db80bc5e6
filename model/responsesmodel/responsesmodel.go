// Package responsesmodel is the adapter for OpenAI's Responses API, and for the servers that
// speak it. Like the adapter of Chat Completions it builds its requests by hand, and takes
// from OpenAI's SDK what reads events.
//
// The server keeps nothing (store is false, and previous_response_id is not used): the log of the
// session is the state. What a model has thought comes encrypted, and goes back unchanged with
// the answer that it led to. [sealed] says how.
//
// Items go back without their ids. With store false OpenAI looks an id up, finds nothing, and
// refuses the request: "Item with id 'rs_...' not found".
//
// What a server or model is known to refuse is left out. What one refuses besides, of the fields
// that an answer does not depend on, is left out after the first refusal: see features.go.
package responsesmodel

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
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
	APIKey    string // sent as a bearer token; empty means not sent
	KeyHeader string // that carries the key instead

	// BaseURL is what responses is added to. Empty means https://api.openai.com/v1.
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

// Model is a model that is called by the Responses API.
type Model struct {
	name      string // there
	provider  string
	at        endpoint.Endpoint
	host      string       // of the server
	known     provider.Row // of the server
	keyHeader string
	retries   endpoint.Retries
	client    *http.Client
	each      bool

	mu      sync.Mutex
	refused features              // left out from now on
	stale   map[[16]byte]struct{} // reasoning that the server has refused, by its hash
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
		Model: m.Name(), API: "the Responses API", Base: strings.TrimRight(o.BaseURL, "/"),
		Key: strings.TrimSpace(o.APIKey), Hint: ", which may have to end in /v1", Read: openaiwire.ReadRefusal,
	}
	if m.at.Base == "" {
		row, _ := provider.Named("openai")
		m.at.Base = row.Base
	}
	if u, err := url.Parse(m.at.Base); err == nil {
		m.host = u.Host
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
		callCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		tell, left := endpoint.Telling(yield, cancel)
		res, err := m.ask(ctx, callCtx, req, tell, left)
		if left() {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = res.Body.Close() }() // what was read counts, not how it closes
		flow := endpoint.NewFlow(yield)
		if flow.Each = m.each; !m.each {
			defer endpoint.Pace(callCtx, res, flow)()
		}
		m.read(ctx, res, flow)
	}
}

// ask sends a request, and again without what the server refuses and the answer does not depend on.
func (m *Model) ask(ctx, call context.Context, req *model.Request, tell func(model.Retry) bool, left func() bool) (*http.Response, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	switch {
	case m.at.Key == "":
	case m.keyHeader != "":
		header.Set(m.keyHeader, m.at.Key)
	default:
		header.Set("Authorization", "Bearer "+m.at.Key)
	}
	for {
		sent, err := m.request(req)
		if err != nil {
			return nil, m.at.Errorf(model.ErrInvalid, err)
		}
		res, err := m.post(ctx, call, header, sent.body, tell)
		if err == nil || left() || !m.learn(sent, err) {
			return res, err
		}
	}
}

// post sends a request. It returns the response with the answer, or why there is none.
func (m *Model) post(ctx, call context.Context, header http.Header, body []byte, tell func(model.Retry) bool) (*http.Response, error) {
	res, err := m.retries.Post(call, m.client, m.at.Base+"/responses", header, body, tell)
	if err == nil && (endpoint.IsStream(res) || endpoint.Whole(res, "output") || endpoint.Whole(res, "response")) {
		return res, nil
	}
	if res != nil {
		defer func() { _ = res.Body.Close() }()
	}
	return nil, m.at.Refused(ctx, res, err)
}

// read reads an answer. It is whole once the event has come that ends it.
func (m *Model) read(ctx context.Context, res *http.Response, flow *endpoint.Flow) {
	streamed := endpoint.EndLine(res)
	events := ssestream.NewDecoder(res)
	got := answer{host: m.host}
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
	}
	if !got.done {
		flow.Fail(m.at.Broken(ctx, events.Err()))
		return
	}
	if flow.Add(got.end()...) {
		flow.Flush()
	}
}

// failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (m *Model) failed(err error) error {
	if sent, ok := errors.AsType[*openaiwire.Error](err); ok {
		return m.at.Sent(endpoint.Refusal(*sent))
	}
	return m.at.Errorf(model.ErrProtocol, err)
}
