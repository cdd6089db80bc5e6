package mcpclient_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// TestRemote calls a server over each transport of HTTP.
func TestRemote(t *testing.T) {
	t.Setenv("TOKEN_OF_TEST", "s3cret")
	check := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				http.Error(w, "no", http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	get := func(*http.Request) *mcp.Server { return mcptest.New() }
	for name, handler := range map[string]http.Handler{
		"http": mcp.NewStreamableHTTPHandler(get, nil), "stateless": mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), "sse": mcp.NewSSEHandler(get, nil),
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(check(handler))
			defer web.Close()
			defer web.CloseClientConnections()
			p := newPlace(t, &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: web.URL, Headers: map[string]string{"Authorization": "Bearer ${TOKEN_OF_TEST}"}, File: "test"})
			p.wants(p.call("mcp__far__echo", "over HTTP"), false, "over HTTP")
			values, err := p.tools()["mcp__far__echo"].Values(json.RawMessage(`{"text":"x"}`))
			if err != nil || values[len(values)-1].Tool != tool.NetworkTool || "http://"+values[len(values)-1].Text != web.URL {
				t.Errorf("its values are %v, %v", values, err)
			}
			if err := p.End("ses_1"); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		var seen http.Header
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
		defer other.Close()
		web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
		defer web.Close()
		p := newPlace(t, &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: web.URL, Headers: map[string]string{"Authorization": "Bearer x"}, File: "test"})
		if warnings := p.Ready(t.Context(), nil, nil, p.ws); len(warnings) != 1 || !strings.Contains(warnings[0], "redirects") || seen != nil {
			t.Errorf("a redirect to another host: %q, headers %v", warnings, seen)
		}
	})
}
