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
	"context"
	"iter"
	"net/http"
	"net/url"
	"sync"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// Options configures a Model.
type Options = openaiwire.Options

var _ model.Model = (*Model)(nil)

// Model is a model that is called by the Responses API.
type Model struct {
	server *openaiwire.Server
	host   string // of the server

	mu      sync.Mutex
	refused features              // left out from now on
	stale   map[[16]byte]struct{} // reasoning that the server has refused, by its hash
}

// New returns the model that the server calls name. Nil options are the zero
// Options. It does not connect.
func New(name string, opts *Options) *Model {
	api := openaiwire.API{Name: "the Responses API", Path: "/responses", Whole: []string{"output", "response"}}
	m := &Model{server: openaiwire.NewServer(name, api, opts)}
	if u, err := url.Parse(m.server.At.Base); err == nil {
		m.host = u.Host
	}
	return m
}

// Name implements [model.Model]: the provider and the model's name there.
func (m *Model) Name() string { return m.server.Name() }

// Account implements [model.Accounted].
func (m *Model) Account() string { return m.server.At.Account() }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return m.server.Stream(ctx, func(c *openaiwire.Call) (*http.Response, error) { return m.ask(c, req) }, m.read)
}

// ask sends a request, and again without what the server refuses and the answer does not depend on.
func (m *Model) ask(c *openaiwire.Call, req *model.Request) (*http.Response, error) {
	for {
		sent, err := m.request(req)
		if err != nil {
			return nil, c.At.Errorf(model.ErrInvalid, err)
		}
		res, err := c.Post(sent.body)
		if err == nil || c.Left() || !m.learn(sent, err) {
			return res, err
		}
	}
}

// read reads an answer. It is whole once the event has come that ends it.
func (m *Model) read(c *openaiwire.Call, res *http.Response, flow *endpoint.Flow) {
	streamed := endpoint.EndLine(res)
	events := ssestream.NewDecoder(res)
	got := answer{host: m.host}
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
	}
	if !got.done {
		flow.Fail(c.Broken(events.Err()))
		return
	}
	if flow.Add(got.end()...) {
		flow.Flush()
	}
}
