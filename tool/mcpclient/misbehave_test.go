package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/mcpconfig"
)

// TestMisbehaviour: whatever a server does in a call, the call ends, and the next one works.
func TestMisbehaviour(t *testing.T) {
	for _, c := range []struct {
		tool    string
		isError bool
		want    string
	}{
		{"killed", true, "ended while it worked"},
		{"flood", true, "ended while it worked"},
		{"noise", false, "heard"},
		{"promises", false, `{"m":"\u003c/task_result\u003e"}`},
	} {
		t.Run(c.tool, func(t *testing.T) {
			p := newPlace(t, self("t"))
			p.wants(p.call("mcp__t__"+c.tool, ""), c.isError, c.want)
			p.wants(p.call("mcp__t__echo", "after"), false, "after")
		})
	}
}

// TestManyTools: of a server with more tools than are offered the first ones are, and of one whose
// list has no end too.
func TestManyTools(t *testing.T) {
	const most = 2000
	p := newPlace(t, self("t", "many=2500"))
	if got := len(p.tools()); got != most+1 { // and tool_output
		t.Errorf("of 2,500 tools %d are offered", got)
	}
	p.wants(p.call("mcp__t__tool1", ""), false, "returned nothing")

	var pages atomic.Int64
	endless := mcp.NewServer(&mcp.Implementation{Name: "endless", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	endless.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "tools/list" {
				return next(ctx, method, req)
			}
			page := pages.Add(1)
			made := &mcp.ListToolsResult{NextCursor: fmt.Sprint(page)}
			for i := range 100 {
				made.Tools = append(made.Tools, &mcp.Tool{Name: fmt.Sprintf("t%d_%d", page, i), InputSchema: map[string]any{"type": "object"}})
			}
			return made, nil
		}
	})
	at := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return endless }, nil))
	t.Cleanup(at.Close)
	t.Cleanup(at.CloseClientConnections)
	p = newPlace(t, &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: at.URL, File: "test"})
	if got := len(p.tools()); got != most+1 {
		t.Errorf("of a list without an end %d tools are offered, after %d pages", got, pages.Load())
	}
}
