package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/listing"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/internal/tracecontext"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// toolSet is the tools of a connection.
type toolSet struct {
	*waiter
	listed listing.Tools
}

// add gives a server the tools.
func (t *toolSet) add(server *mcp.Server) {
	t.addTask(server)
	for _, op := range control.Operations {
		server.AddTool(listing.Control(op), t.noting(t.operation(op)))
	}
	server.AddTool(listing.AgentsList(), t.noting(t.agentsList))
	server.AddReceivingMiddleware(t.list)
	if t.opts.ToolPerAgent {
		server.AddReceivingMiddleware(t.callAgent)
	}
}

// addTask adds the task tool to a server, or replaces it, of which the host is notified.
func (t *toolSet) addTask(server *mcp.Server) { server.AddTool(listing.Unlisted(), t.noting(t.task)) }

// list answers tools/list with the agents of the moment, as the host gets them.
func (t *toolSet) list(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		var client *mcp.Implementation
		if listing, ok := req.(*mcp.ListToolsRequest); ok {
			client = listing.ClientInfo()
		}
		var all []*mcp.Tool
		for _, tool := range list.Tools {
			if tool.Name == toolcall.Task {
				tool = t.listed.Task(t.host(client))
			}
			if tool != nil {
				all = append(all, tool)
			}
		}
		if t.opts.ToolPerAgent {
			all = append(all, t.listed.Agents()...)
		}
		list.Tools = all
		return list, nil
	}
}

// noting adds to the result of a call what the model has to know of earlier ones.
func (t *toolSet) noting(handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := handler(ctx, req)
		if s := startedBy(ctx); err != nil || res.RequestState != "" || ctx.Err() != nil || t.root.shared || s != nil && s.child != nil {
			return res, err
		}
		for _, note := range t.children.notices() {
			res.Content = append(res.Content, &mcp.TextContent{Text: note})
		}
		return res, nil
	}
}

// agentNamed is the key of the agent whose tool was called, in a call's context.
type agentNamed struct{}

// callAgent makes a call of an agent's tool one of task. It leaves a tool that does not
// exist to the SDK, which refuses it.
func (t *toolSet) callAgent(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		agent := t.listed.AgentOf(call.Params.Name)
		if agent == "" {
			return next(ctx, method, req)
		}
		params, named := *call.Params, *call
		params.Name, named.Params = toolcall.Task, &params
		return next(context.WithValue(ctx, agentNamed{}, agent), method, &named)
	}
}

// readTask reads the arguments of a call of task, or of an agent's tool. Whether they make
// sense is for the service to say.
func readTask(ctx context.Context, req *mcp.CallToolRequest) (in taskt.Input, err error) {
	if len(req.Params.Arguments) > 0 {
		if err := toolcall.Read(toolcall.Task, req.Params.Arguments, &in); err != nil {
			return in, err
		}
	}
	agent, ok := ctx.Value(agentNamed{}).(string)
	if ok && !strings.EqualFold(cmp.Or(in.AgentType, agent), agent) {
		return in, fmt.Errorf("this tool calls the agent %q, and agentType names another: leave it out, or call %s", agent, toolcall.Task)
	}
	if ok {
		in.AgentType = agent
	}
	if parent, ok := req.Params.Meta["traceparent"].(string); ok {
		in.Traceparent = tracecontext.Parent(parent)
	}
	return in, nil
}

// started is where a call notes the child that it has started, for a client that gets a
// task instead of a result.
type started struct{ child *child }

type startedKey struct{}

// startedBy returns where a call notes its child; nil means its client waits for a result.
func startedBy(ctx context.Context) *started {
	s, _ := ctx.Value(startedKey{}).(*started)
	return s
}

// task is the task tool. It runs a call, or continues one that has asked the host something.
func (t *toolSet) task(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		return t.again(ctx, req), nil
	}
	in, err := readTask(ctx, req)
	if err == nil {
		err = t.canSample(req)
	}
	if err != nil {
		return t.result(req, toolcall.Failure(in.AgentType, err)), nil
	}
	child, result := t.children.start(req.ClientInfo(), in)
	if child == nil {
		return t.result(req, result), nil
	}
	if accepted := child.Accepted(); accepted != nil {
		return t.result(req, accepted), nil
	}
	if s := startedBy(ctx); s != nil {
		t.children.markDelivered(child.SessionID()) // the task has it
		s.child = child
		return new(mcp.CallToolResult), nil
	}
	on := single(child)
	on.moved = child.Moved()
	return t.await(ctx, req, on, waitState{limit: t.patience(req)}), nil
}

// agentsList is the agents_list tool. It lists as many as the host takes.
func (t *toolSet) agentsList(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Offset int `json:"offset"`
	}
	if err := toolcall.Read(toolcall.AgentsList, req.Params.Arguments, &in); err != nil {
		return toolcall.Refusal(err), nil
	}
	agents := t.opts.Tasks.Offer().Agents
	if in.Offset < 0 || in.Offset > len(agents) {
		return toolcall.Refusal(fmt.Errorf("there are %d agents: offset %d is not within 0 and %d", len(agents), in.Offset, len(agents))), nil
	}
	text, err := toolcall.Agents(agents, in.Offset, t.host(req.ClientInfo()).Text)
	if err != nil {
		return nil, err
	}
	return toolcall.Text(text), nil
}
