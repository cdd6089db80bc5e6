package openaiwire

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/provider"
)

// Options configures a model.
type Options struct {
	Provider  string // its name, which stands before the model's; empty means openai
	APIKey    string // sent as a bearer token; empty means not sent, as local servers allow
	KeyHeader string // that carries the key instead

	// BaseURL is what the path of the API is added to, as the server's documentation has it:
	// http://localhost:11434/v1 for Ollama, https://api.deepseek.com for DeepSeek. Empty
	// means https://api.openai.com/v1.
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

// API is one of the two.
type API struct {
	Name  string   // in errors
	Path  string   // below the base URL
	Whole []string // fields of an answer that comes as one document
}

// Server is a model at a server that speaks one of the APIs.
type Server struct {
	Model string            // its name there
	At    endpoint.Endpoint // the server
	Known provider.Row      // what is known of the server

	api       API
	provider  string
	keyHeader string
	retries   endpoint.Retries
	client    *http.Client
	each      bool
}

// NewServer returns the model that the server calls name. Nil options are the zero Options.
// It does not connect.
func NewServer(name string, api API, opts *Options) *Server {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Server{Model: name, api: api, provider: cmp.Or(o.Provider, "openai"), keyHeader: o.KeyHeader, each: o.EachDelta}
	s.At = endpoint.Endpoint{
		Model: s.Name(), API: api.Name, Base: strings.TrimRight(o.BaseURL, "/"),
		Key: strings.TrimSpace(o.APIKey), Hint: ", which may have to end in /v1", Read: ReadRefusal,
	}
	if s.At.Base == "" {
		row, _ := provider.Named("openai")
		s.At.Base = row.Base
	}
	s.Known = provider.At(s.At.Base)
	s.retries = endpoint.NewRetries(o.MaxRetries, o.MaxRetryWait)
	s.client = endpoint.WithoutRedirects(o.HTTPClient)
	return s
}

// Name returns the provider and the model's name there.
func (s *Server) Name() string { return s.provider + "/" + s.Model }

// Call is one call of a model.
type Call struct {
	*Server
	ctx, call context.Context // of the caller, and one that ends with the call
	tell      func(model.Retry) bool

	Left   func() bool        // reports whether the caller wants nothing more
	Cancel context.CancelFunc // ends the reading of the answer
}

// Stream makes a call. ask posts the request, again without what the server refuses; read reads
// the answer.
func (s *Server) Stream(ctx context.Context, ask func(*Call) (*http.Response, error), read func(*Call, *http.Response, *endpoint.Flow)) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		call, cancel := context.WithCancel(ctx)
		defer cancel()
		c := &Call{Server: s, ctx: ctx, call: call, Cancel: cancel}
		c.tell, c.Left = endpoint.Telling(yield, cancel)
		res, err := ask(c)
		if c.Left() {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = res.Body.Close() }() // what was read counts, not how it closes
		flow := endpoint.NewFlow(yield)
		if flow.Each = s.each; !s.each {
			defer endpoint.Pace(call, res, flow)()
		}
		read(c, res, flow)
	}
}

// Post sends a request. It returns the response with the answer, or why there is none.
func (c *Call) Post(body []byte) (*http.Response, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	switch {
	case c.At.Key == "":
	case c.keyHeader != "":
		header.Set(c.keyHeader, c.At.Key)
	default:
		header.Set("Authorization", "Bearer "+c.At.Key)
	}
	res, err := c.retries.Post(c.call, c.client, c.At.Base+c.api.Path, header, body, c.tell)
	if err == nil && (endpoint.IsStream(res) || slices.ContainsFunc(c.api.Whole, func(field string) bool { return endpoint.Whole(res, field) })) {
		return res, nil
	}
	if res != nil {
		defer func() { _ = res.Body.Close() }()
	}
	return nil, c.At.Refused(c.ctx, res, err)
}

// Broken returns the error of an answer that has ended before it was whole.
func (c *Call) Broken(err error) error { return c.At.Broken(c.ctx, err) }

// Failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (s *Server) Failed(err error) error {
	if sent, ok := errors.AsType[*Error](err); ok {
		return s.At.Sent(endpoint.Refusal(*sent))
	}
	return s.At.Garbled(err)
}
