package mcpserver_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// FuzzHTTP sends whatever to the door over HTTP: it answers, and goes on
// answering.
func FuzzHTTP(f *testing.F) {
	e := newEnv(f, modelFunc(echo), 0, nil)
	door := e.server.HTTP(&mcpserver.HTTPOptions{Clients: 5, Grace: time.Millisecond})
	f.Cleanup(door.Close)
	send := func(ctx context.Context, method, version, session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, "POST", "/mcp", strings.NewReader(body))
		r.Method = method
		r.Header.Set("Accept", accepts)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Session-Id", session)
		w := httptest.NewRecorder()
		door.ServeHTTP(w, r.WithContext(caller.WithIdentity(r.Context(), caller.OwnerIdentity)))
		return w
	}
	const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
	own := send(f.Context(), "POST", "2025-11-25", "", begin).Header().Get("Mcp-Session-Id")
	for _, seed := range []struct{ method, version, body string }{
		{"POST", "2025-11-25", begin},
		{"POST", "2025-11-25", callBody(1, "explore", "p")},
		{"POST", "2025-03-26", "[" + callBody(1, "explore", "p") + "," + callBody(1, "explore", "p") + "]"},
		{"POST", "2025-11-25", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"timeout"}}`},
		{"POST", "2025-11-25", `{"jsonrpc":"2.0","id":"x","result":{}}`},
		{"POST", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`},
		{"POST", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`},
		{"POST", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","requestState":"x","inputResponses":{"a":{"role":"assistant"}},` + meta + `}}`},
		{"POST", "2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"session://x",` + meta + `}}`},
		{"GET", "2025-11-25", ""},
		{"DELETE", "2026-07-28", ""},
	} {
		f.Add(seed.method, seed.version, seed.body, true)
		f.Add(seed.method, seed.version, seed.body, false)
	}
	f.Fuzz(func(t *testing.T, method, version, body string, inSession bool) {
		session := ""
		if inSession && method != "DELETE" {
			session = own
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // of what listens
		defer cancel()
		send(ctx, method, version, session, body)
		if w := send(t.Context(), "POST", "2025-11-25", "", begin); w.Code != 200 || w.Header().Get("Mcp-Session-Id") == "" {
			t.Errorf("afterwards a session can't be begun: %d %s", w.Code, w.Body)
		}
	})
}
