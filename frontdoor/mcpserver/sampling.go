package mcpserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session"
)

// maxSampling bounds the wait for a host's model where the caller gives no
// time: a host may never answer.
const maxSampling = 10 * time.Minute

// sample is the connection's [Sampler].
func (t *progressTracker) sample(ctx context.Context, path []string, params *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	if len(path) < 2 {
		return nil, errors.New("the host's model is for the host's subagents alone")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxSampling, fmt.Errorf("the host's model has not answered within %s", errtext.Duration(maxSampling)))
	defer cancel()
	until, _ := ctx.Deadline()
	type outcome struct {
		response mcp.InputResponse
		err      error
	}
	answered := make(chan outcome, 1)
	q := &question{
		id:      "smp_" + rand.Text(),
		until:   until,
		over:    make(chan struct{}),
		only:    true,
		wants:   takesTools,
		request: func(context.Context, peer) (mcp.InputRequest, error) { return params, nil },
		answer: func(_ context.Context, response mcp.InputResponse, err error, _ peer, _ time.Duration) reply {
			select {
			case answered <- outcome{response, err}:
			default: // the first one counts
			}
			return settled
		},
	}
	progress := t.of(path[1])
	progress.ask(q)
	defer progress.withdraw(q.id)
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-answered:
		if a.err != nil {
			return nil, fmt.Errorf("asking the host's model: %w", a.err)
		}
		res, ok := a.response.(*mcp.CreateMessageWithToolsResult)
		if !ok {
			return nil, fmt.Errorf("the host has answered a request for its model with a %T", a.response)
		}
		return res, nil
	}
}

// takesTools reports whether a client names sampling with tools: an agent
// without tools could do nothing.
func takesTools(caps *mcp.ClientCapabilities) bool {
	return caps.Sampling != nil && caps.Sampling.Tools != nil
}

// canSample returns an error where agents are to run on the model of a host
// that offers none.
func (s *Server) canSample(req *mcp.CallToolRequest) error {
	if s.opts.HostModel == nil {
		return nil
	}
	what := ""
	caps := req.ClientCapabilities()
	switch {
	case caps == nil || caps.Sampling == nil:
		what = "names no sampling in its capabilities"
	case !takesTools(caps):
		what = "names sampling in its capabilities, but without tools"
	case wayOf(req) == noWay:
		what = "mixes two versions of the protocol, so that it can't be asked"
	default:
		return nil
	}
	return fmt.Errorf("--model host runs agents on the host's model, and %s %s: start the worker with another --model", describeClient(req.ClientInfo()), what)
}

// hostModel makes the model that the host brings along; nil means the worker's is used.
func (s *Server) hostModel(of *progressTracker) session.Model {
	if s.opts.HostModel == nil {
		return nil
	}
	return s.opts.HostModel(of.sample)
}
