package mcpserver_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestRevokedSessions: the sessions of a token that is removed end with what their calls have
// started, also while no request of them is open. Those of others go on.
func TestRevokedSessions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "serve.tokens")
	guest, err := tokens.Add(file, "guest", []tokens.Scope{"read", "run"})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan string)
	e := newEnv(t, hang(begun), 0, nil)
	ctx, stop := context.WithCancel(context.Background())
	server, err := httpserver.Start(ctx, "127.0.0.1:0", httpserver.Options{
		Tasks: e.tasks, Sessions: e.sessions.Store(), Bus: e.bus, Token: webToken, MCP: e.server.HTTP(nil),
		Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	for token, agent := range map[string]string{guest: "explore", webToken: "general"} {
		host := connect(t, &mcp.StreamableClientTransport{
			Endpoint: server.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer{transport, token}}, DisableStandaloneSSE: true,
		}, "test-host", "2025-11-25", nil)
		t.Cleanup(func() { _ = host.Close() }) // the guest's is not let in any more
		task := taskt.Input{Description: "a test", Prompt: "work", AgentType: agent, Background: new(true)}
		if res := callTool(t, host, "task", task); res.IsError {
			t.Fatal(text(t, res))
		}
		<-begun
	}
	paths := make(map[string]event.Path) // by the agent
	for _, r := range e.records(t) {
		paths[r.Agent] = r.Path
	}
	if err := tokens.Remove(file, "guest"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []event.Path{paths["explore"], paths["explore"][:1]} {
		for d, err := range e.bus.Follow(t.Context(), path, &eventbus.FollowOptions{Live: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Ends() {
				break
			}
		}
	}
	for agent, want := range map[string]record.Status{"explore": record.Cancelled, "general": record.Running} {
		r, err := e.sessions.Store().Index.Get(t.Context(), paths[agent][1].SessionID)
		if err != nil || r.Status != want {
			t.Errorf("the session of %s is %+v, want it %s; %v", agent, r, want, err)
		}
	}
}
