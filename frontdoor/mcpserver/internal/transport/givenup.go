package transport

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/exttask"
)

// GivenUp knows the calls that the host has cancelled because they took too long for it,
// not because somebody wants them stopped. MCP has one notification for both, with a reason
// in words. The SDK shows a call neither the reason nor its id, so each call is marked with
// its id on the way in.
type GivenUp struct {
	mu  sync.Mutex
	ids map[string]bool
}

// callMark is where in its _meta a call has its id.
const callMark = "agentworker/requestId"

// Mark writes a call's id into its params. It leaves params that can't be read to the SDK,
// which refuses them.
func (g *GivenUp) Mark(req *jsonrpc.Request) {
	if req.Method == "tools/call" {
		req.Params = exttask.WithMeta(req.Params, callMark, Key(req.ID))
	}
}

// Cancelled takes a notification that a call is cancelled, if the call is known.
func (g *GivenUp) Cancelled(params json.RawMessage, known func(jsonrpc.ID) bool) {
	var p struct {
		RequestID any    `json:"requestId"`
		Reason    string `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil || !tellsOfTime(p.Reason) {
		return
	}
	id, err := jsonrpc.MakeID(p.RequestID)
	if err != nil || !known(id) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ids == nil {
		g.ids = make(map[string]bool)
	}
	g.ids[Key(id)] = true
}

// tellsOfTime reports whether the reason for a cancellation is the host's time
// limit: "Request timed out" of the TypeScript SDK, and the like of others.
func tellsOfTime(reason string) bool {
	reason = strings.ToLower(reason)
	for _, words := range []string{"timed out", "timeout", "deadline"} {
		if strings.Contains(reason, words) {
			return true
		}
	}
	return false
}

// MarkOf returns the id that Mark wrote into a call; empty means the call has no mark.
func MarkOf(req *mcp.CallToolRequest) string {
	id, _ := req.Params.Meta[callMark].(string)
	return id
}

// Has reports whether the host has given up on a call.
func (g *GivenUp) Has(req *mcp.CallToolRequest) bool {
	id := MarkOf(req)
	g.mu.Lock()
	defer g.mu.Unlock()
	return id != "" && g.ids[id]
}

// Forget drops a call that is answered, by its mark.
func (g *GivenUp) Forget(mark string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.ids, mark)
}

// Key tells the number 1 from the text "1".
func Key(id jsonrpc.ID) string { return fmt.Sprintf("%T %v", id.Raw(), id.Raw()) }
