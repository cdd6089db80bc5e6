package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/hostmodel"
	"github.com/agentworker/worker/session"
)

// newSamplingEnv returns a server whose agents run on the host's model.
func newSamplingEnv(t testing.TB) *env {
	t.Helper()
	e := newEnv(t, modelFunc(func(context.Context, string, int) (model.Part, error) {
		return nil, errors.New("this is the worker's own model")
	}), 0, nil)
	e.server = mcpserver.New(mcpserver.Options{
		Tasks: e.tasks, Bus: e.bus, Sessions: e.sessions.Store(),
		HostModel: func(ask mcpserver.Sampler) session.Model { return hostmodel.New(hostmodel.Ask(ask)) },
	})
	return e
}

// hostWith is a client whose model is a function of what it is asked.
func hostWith(answer func(ctx context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}}},
		CreateMessageWithToolsHandler: func(ctx context.Context, req *mcp.CreateMessageWithToolsRequest) (*mcp.CreateMessageWithToolsResult, error) {
			return answer(ctx, req.Params)
		},
	}
}

func says(text string) *mcp.CreateMessageWithToolsResult {
	return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: text}}, StopReason: "endTurn"}
}

func uses(id, tool string, input map[string]any) *mcp.CreateMessageWithToolsResult {
	return &mcp.CreateMessageWithToolsResult{
		Role: "assistant", Model: "m", StopReason: "toolUse",
		Content: []mcp.Content{&mcp.ToolUseContent{ID: id, Name: tool, Input: input}},
	}
}

// connectBy connects a client over stdio or HTTP, with a version of the
// protocol.
func (e *env) connectBy(t testing.TB, door, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if door == "HTTP" {
		host := e.web(t, nil).connect(t, "test-host", version, opts)
		t.Cleanup(func() {
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
		return host
	}
	return e.connectAs(t, "test-host", version, opts)
}

// TestSampling: an agent runs on the host's model, with its tools, in each way of asking
// the host. It may take more steps than a call can be answered with questions.
func TestSampling(t *testing.T) {
	for _, door := range []string{"stdio", "HTTP"} {
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(door+" "+version, func(t *testing.T) {
				e := newSamplingEnv(t)
				var steps atomic.Int32
				host := e.connectBy(t, door, version, hostWith(func(_ context.Context, p *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
					if len(p.Tools) == 0 || p.SystemPrompt == "" {
						return nil, errors.New("there are no tools, or no system prompt")
					}
					if n := steps.Add(1); n <= 12 {
						return uses(fmt.Sprint("call", n), "list_dir", map[string]any{"path": strings.Repeat("./", int(n))}), nil
					}
					return says(fmt.Sprintf("seen after %d messages", len(p.Messages))), nil
				}))
				res, err := host.CallTool(t.Context(), call("explore", "look"))
				for i := 0; err == nil && strings.Contains(text(t, res), "task_wait") && i < 5; i++ {
					id, _ := res.Meta["sessionId"].(string)
					res, err = host.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_wait", Arguments: map[string]any{"sessionId": id}})
				}
				if err != nil || !strings.Contains(text(t, res), "seen after 25 messages") {
					t.Errorf("%+v, %v", res, err)
				}
			})
		}
	}
}

// TestSamplingRefused: where the host can't lend its model, or does not, the
// call fails and says why.
func TestSamplingRefused(t *testing.T) {
	refuses := func(context.Context, *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
		return nil, errors.New("the user said no")
	}
	for _, tt := range []struct {
		name, version string
		opts          *mcp.ClientOptions
		says          string
	}{
		{"no sampling", "2025-11-25", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}, "test-host 1.2.3 names no sampling in its capabilities: start the worker with another --model"},
		{"no sampling", "2026-07-28", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}, "names no sampling"},
		{"no tools", "2025-11-25", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}}, "without tools"},
		{"a refusal", "2025-11-25", hostWith(refuses), "asking the host's model: "},
	} {
		e := newSamplingEnv(t)
		host := e.connectBy(t, "stdio", tt.version, tt.opts)
		res, err := host.CallTool(t.Context(), call("explore", "look"))
		if err != nil || !res.IsError || !strings.Contains(text(t, res), tt.says) {
			t.Errorf("%s, %s: %+v, %v, want %q", tt.name, tt.version, res, err, tt.says)
		}
	}
}

// TestSamplingSilence: a host that never answers holds up neither another call
// nor the end of its own.
func TestSamplingSilence(t *testing.T) {
	for _, tt := range []struct{ door, version string }{
		{"stdio", "2025-11-25"}, {"stdio", "2026-07-28"}, {"HTTP", "2025-06-18"}, {"HTTP", "2026-07-28"},
	} {
		t.Run(tt.door+" "+tt.version, func(t *testing.T) {
			e := newSamplingEnv(t)
			asked, over := make(chan struct{}, 10), make(chan struct{})
			host := e.connectBy(t, tt.door, tt.version, hostWith(func(ctx context.Context, _ *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
				asked <- struct{}{}
				select {
				case <-over:
				case <-ctx.Done():
				}
				return nil, errors.New("too late")
			}))
			t.Cleanup(func() { close(over) })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := host.CallTool(ctx, call("explore", "look"))
				done <- err
			}()
			<-asked
			other := e.connectBy(t, "HTTP", tt.version, hostWith(func(context.Context, *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
				return says("at once"), nil
			}))
			if res, err := other.CallTool(t.Context(), call("explore", "look")); err != nil || !strings.Contains(text(t, res), "at once") {
				t.Errorf("another host: %+v, %v", res, err)
			}
			cancel()
			if err := <-done; err == nil {
				t.Error("the call that was cancelled has a result")
			}
		})
	}
}
