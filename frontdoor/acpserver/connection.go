package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

// connection is one client.
type connection struct {
	*Server
	ctx    context.Context // ends with the connection: all turns do
	cancel context.CancelFunc
	life   context.Context // ends when nothing more is shown
	shut   context.CancelFunc
	out    *output
	peer   *acp.Connection
	ready  chan struct{}  // closed once peer is there
	owned  sync.WaitGroup // what shows streams, and asks

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	client *client // nil means it has not said who it is
	talks  map[string]*talk
}

// client is who the client is, and what it can do.
type client struct {
	name      string
	subagents bool // it shows them as sessions
}

func newConnection(ctx context.Context, s *Server, out io.Writer) *connection {
	c := &connection{Server: s, out: newOutput(out), ready: make(chan struct{}), talks: make(map[string]*talk)}
	c.life, c.shut = context.WithCancel(context.WithoutCancel(ctx))
	c.ctx, c.cancel = context.WithCancel(c.life)
	return c
}

func (c *connection) start(in io.Reader) {
	c.peer = acp.NewConnection(c.handle, c.out, newInput(c, in))
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

// call reads the params of a method, which the client may call once it has said who it
// is.
func call[P, R any](f func(*connection, context.Context, P) (R, error)) func(*connection, context.Context, json.RawMessage) (any, error) {
	return func(c *connection, ctx context.Context, raw json.RawMessage) (any, error) {
		var params P
		if err := decode(raw, &params); err != nil {
			return nil, err
		}
		c.mu.Lock()
		known := c.client != nil
		c.mu.Unlock()
		if !known {
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

// invalid is the error of params that say what can't be done.
func invalid(err error) error {
	return &acp.RequestError{Code: -32602, Message: termtext.OneLine("invalid params: "+err.Error(), 2000)}
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
	if errors.Is(err, store.ErrNotFound) {
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
	is := &client{name: "an ACP client", subagents: showsSubagents(raw)}
	if info := params.ClientInfo; info != nil && info.Name != "" {
		is.name = termtext.OneLine(info.Name+" "+info.Version, 100)
	}
	c.mu.Lock()
	c.client = is
	c.mu.Unlock()
	return &acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "worker", Title: acp.Ptr("agentworker"), Version: c.opts.Version},
		AuthMethods:     []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: acp.PromptCapabilities{EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{
				Close: &acp.SessionCloseCapabilities{}, List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			},
		},
	}, nil
}

// update shows the client something of a session. An error says that the client has gone,
// which ends the connection by itself.
func (c *connection) update(sessionID string, update any) {
	err := c.peer.SendNotification(c.life, acp.ClientMethodSessionUpdate, map[string]any{"sessionId": sessionID, "update": update})
	if err != nil {
		c.log.Debug("showing an update", "session", sessionID, "err", err)
	}
}

// by names the client as who does something, for people.
func (c *connection) by() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("the user of %s", c.client.name)
}
