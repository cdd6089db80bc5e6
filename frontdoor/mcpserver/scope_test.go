package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/session/approval"
)

// as sends requests in the name of an identity.
type as struct{ name string }

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-As", a.name)
	return http.DefaultTransport.RoundTrip(r)
}

// TestScopes: over HTTP a client calls what its scopes allow. It is asked about approvals
// only if it may answer them, and offered "always" only as the owner. No client reaches the
// session of another identity.
func TestScopes(t *testing.T) {
	identities := map[string]caller.Identity{
		"reader": {Name: "reader", Scopes: []caller.Scope{caller.Read}},
		"runner": {Name: "runner", Scopes: []caller.Scope{caller.Read, caller.Run}},
		"both":   {Name: "both", Scopes: []caller.Scope{caller.Read, caller.Run, caller.Approve}},
		"owner":  caller.OwnerIdentity,
	}
	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Reflex: time.Nanosecond}}.open(t)
	door := e.server.HTTP(nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door.ServeHTTP(w, r.WithContext(caller.WithIdentity(r.Context(), identities[r.Header.Get("X-As")])))
	}))
	t.Cleanup(func() {
		door.Close()
		srv.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	for _, version := range generations {
		forms := map[string][]string{} // the choices that each was offered
		hosts := map[string]*mcp.ClientSession{}
		for name := range identities {
			transport := &mcp.StreamableClientTransport{Endpoint: srv.URL, HTTPClient: &http.Client{Transport: as{name}}, DisableStandaloneSSE: true}
			hosts[name] = connect(t, transport, "test-host", version, elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				forms[name] = choices(t, req)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow once"}}, nil
			}))
			t.Cleanup(func() {
				if err := hosts[name].Close(); err != nil {
					t.Error(err)
				}
			})
		}
		if res := callTool(t, hosts["reader"], "task", call("general", "echo hello").Arguments); !res.IsError || !strings.Contains(text(t, res), `does not have the scope "run"`) {
			t.Errorf("a task of who may read: %s", text(t, res))
		}
		if res := callTool(t, hosts["reader"], "agents_list", map[string]any{}); res.IsError {
			t.Errorf("agents_list: %s", text(t, res))
		}
		if res := callTool(t, hosts["reader"], "task_stop", map[string]any{"sessionId": "ses_x"}); !strings.Contains(text(t, res), `"run"`) {
			t.Errorf("task_stop: %s", text(t, res))
		}
		if version != generations[0] {
			continue // what follows does not depend on it
		}
		answered := approveNext(t, e)
		if res := callTool(t, hosts["runner"], "task", call("general", "echo hello").Arguments); res.IsError || !strings.Contains(text(t, res), "hello") {
			t.Errorf("a task of who may run: %s", text(t, res))
		}
		<-answered
		for _, name := range []string{"both", "owner"} {
			if res := callTool(t, hosts[name], "task", call("general", "echo hello").Arguments); res.IsError || !strings.Contains(text(t, res), "hello") {
				t.Errorf("a task of %s: %s", name, text(t, res))
			}
		}
		if forms["runner"] != nil || slices.Contains(forms["both"], "allow always") || len(forms["both"]) != 2 || !slices.Contains(forms["owner"], "allow always") {
			t.Errorf("forms %q", forms)
		}
		if id := hosts["owner"].ID(); id != "" {
			resp := listTools(t, srv.URL, "both", id)
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("another identity's session: status %d", resp.StatusCode)
			}
		}
	}
}

// approveNext approves the next tool call that asks. The channel is closed once it has.
func approveNext(t *testing.T, e *env) <-chan struct{} {
	t.Helper()
	newest, err := e.bus.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asks, cancel := context.WithTimeout(t.Context(), time.Minute)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer cancel()
		for placed, err := range e.bus.FollowAll(asks, newest+1) {
			if err != nil {
				t.Errorf("nothing was asked: %v", err)
				return
			}
			if _, ev, err := placed.Event(); err != nil {
				t.Error(err)
			} else if asked, ok := ev.(event.ToolApprovalRequired); ok {
				e.approve(t, &approval.Approval{ID: asked.ApprovalID})
				return
			}
		}
	}()
	return answered
}

// listTools lists the tools of a session as an identity.
func listTools(t *testing.T, url, identity, id string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Accept", accepts)
	r.Header.Set("Content-Type", "application/json")
	resp, err := as{identity}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}
