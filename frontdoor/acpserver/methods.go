package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
)

// Serve serves one client, which writes to in and reads from out, until in or ctx ends;
// neither is an error. It returns when the client's sessions have ended, and closes in.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	c := newConnection(newClient(ctx, s, out))
	c.start(in)
	select {
	case <-ctx.Done():
	case <-c.peer.Done():
	}
	return c.close(in)
}

func (c *connection) start(in io.Reader) {
	c.peer = acp.NewConnection(c.handle, c.out, newInput(c.client, in, c.cancellation))
	c.peer.SetLogger(c.log)
	close(c.ready)
}

// close cancels the turns, waits until they are answered, and ends the sessions. A client
// that does not read is waited for no longer than Grace.
func (c *connection) close(in io.Closer) error {
	c.mu.Lock()
	c.closed = true
	talks := c.talks
	c.mu.Unlock()
	c.cancel()
	late := time.AfterFunc(c.opts.Grace, func() { c.shut(); c.out.close() })
	defer late.Stop()
	c.calls.Wait()
	errs := make([]error, 0, len(talks))
	for _, t := range talks {
		errs = append(errs, t.End())
	}
	c.owned.Wait()
	select {
	case <-c.out.settled():
	case <-c.out.closed:
	}
	c.shut()
	c.out.close()
	_ = in.Close() // nothing more is read of it
	return errors.Join(errs...)
}

// methods are what a client may call.
var methods = map[string]func(*connection, context.Context, json.RawMessage) (any, error){
	acp.AgentMethodInitialize:             (*connection).initialize,
	acp.AgentMethodSessionNew:             call((*connection).newSession),
	acp.AgentMethodSessionLoad:            call((*connection).loadSession),
	acp.AgentMethodSessionResume:          call((*connection).resumeSession),
	acp.AgentMethodSessionList:            call((*connection).listSessions),
	acp.AgentMethodSessionClose:           call((*connection).closeSession),
	acp.AgentMethodSessionPrompt:          call((*connection).prompt),
	acp.AgentMethodSessionCancel:          call((*connection).cancelTurn),
	acp.AgentMethodSessionSetMode:         call((*connection).setMode),
	acp.AgentMethodSessionSetConfigOption: call((*connection).setOption),
}

// call reads the params of a method, which the client may call once it has lines who it
// is.
func call[P, R any](f func(*connection, context.Context, P) (R, error)) func(*connection, context.Context, json.RawMessage) (any, error) {
	return func(c *connection, ctx context.Context, raw json.RawMessage) (any, error) {
		var params P
		if err := decode(raw, &params); err != nil {
			return nil, err
		}
		if c.is.Load() == nil {
			return nil, &acp.RequestError{Code: -32600, Message: "call initialize first"}
		}
		return f(c, ctx, params)
	}
}

func decode(raw json.RawMessage, params any) error {
	err := json.Unmarshal(raw, params)
	if v, ok := params.(interface{ Validate() error }); ok && err == nil {
		err = v.Validate()
	}
	if err != nil {
		return invalid(err)
	}
	return nil
}

// handle answers a request, or takes a notification.
func (c *connection) handle(ctx context.Context, method string, raw json.RawMessage) (any, *acp.RequestError) {
	<-c.ready
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, &acp.RequestError{Code: -32603, Message: "the worker is shutting down"}
	}
	c.calls.Add(1)
	c.mu.Unlock()
	defer c.calls.Done()
	do := methods[method]
	if do == nil {
		return nil, acp.NewMethodNotFound(method)
	}
	result, err := do(c, ctx, raw)
	if err != nil {
		return nil, c.explain(err)
	}
	return result, nil
}

// explain returns an error as a client shows it.
func (c *connection) explain(err error) *acp.RequestError {
	if known, ok := errors.AsType[*acp.RequestError](err); ok {
		return known
	}
	code := -32603 // internal error
	if errors.Is(err, record.ErrNotFound) {
		code = -32002 // resource not found
	}
	return &acp.RequestError{Code: code, Message: c.opts.Explain(err)}
}

// initialize answers with what this agent can do, after it has read what the client can.
func (c *connection) initialize(_ context.Context, raw json.RawMessage) (any, error) {
	var params acp.InitializeRequest
	if err := decode(raw, &params); err != nil {
		return nil, err
	}
	is := &identity{name: "an ACP client", subagents: showsSubagents(raw)}
	if info := params.ClientInfo; info != nil && info.Name != "" {
		is.name = termtext.OneLine(info.Name+" "+info.Version, termtext.MaxTitle)
	}
	c.is.Store(is)
	return &acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "worker", Title: acp.Ptr("agentworker"), Version: c.opts.Version},
		AuthMethods:     []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    acp.McpCapabilities{Http: !c.opts.IgnoreMCP, Sse: !c.opts.IgnoreMCP},
			PromptCapabilities: acp.PromptCapabilities{EmbeddedContext: true, Image: true},
			SessionCapabilities: acp.SessionCapabilities{
				Close: &acp.SessionCloseCapabilities{}, List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			},
		},
	}, nil
}
