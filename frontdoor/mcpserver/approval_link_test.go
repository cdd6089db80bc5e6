package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestApprovalLink: a client that opens addresses is sent to the page, where there is one.
// To open it is no answer; that comes from there, and the client is told that it has come.
func TestApprovalLink(t *testing.T) {
	for _, version := range generations {
		for _, action := range []string{"accept", "decline"} {
			where := "http://127.0.0.1:7"
			e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Unseen: time.Hour, Page: func() string { return where }}}.open(t)
			var page sync.WaitGroup
			var asked string
			opts := elicit(func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				a := e.pending(t)
				if p := req.Params; p.Mode != "url" || p.URL != where+"/sessions/"+a.SessionID || p.RequestedSchema != nil || !strings.HasPrefix(p.Message, "general asks to run echo hello\n") {
					t.Errorf("the client is asked %+v", p)
				}
				asked = req.Params.ElicitationID
				page.Go(func() { e.approve(t, a) })
				return &mcp.ElicitResult{Action: action}, nil
			})
			completed := make(chan string, 1)
			opts.ElicitationCompleteHandler = func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
				completed <- req.Params.ElicitationID
			}
			opts.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}
			host := e.connectAs(t, "test-host", version, opts)
			if got := text(t, callTool(t, host, "task", call("general", "echo hello").Arguments)); !strings.Contains(got, "outcome: hello") {
				t.Errorf("%s %s: %q", version, action, got)
			}
			page.Wait()
			if action == "accept" && version < "2026" { // later the client asks again for what it wants to know
				if id := <-completed; id != asked {
					t.Errorf("%s: %s is complete, and %s was asked", version, id, asked)
				}
			}
		}
	}

	e := setup{model: shell{}, rules: new(asking), options: mcpserver.Options{Page: func() string { return "http://127.0.0.1:7" }}}.open(t)
	r := e.raw(t.Context(), t)
	withURL := strings.Replace(taskMeta, `"form":{}`, `"url":{}`, 1)
	made, _ := r.ask(1, "tools/call", `"name":"task","arguments":{"description":"d","prompt":"echo hello","agentType":"general"},`+withURL)
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"taskIds":[%q]},%s}}`, made.Result.TaskID, withURL))
	for msg := r.next(); msg.Params.Status != "completed"; msg = r.next() {
		for key := range msg.Params.InputRequests {
			a := e.pending(t)
			r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tasks/update","params":{"taskId":%q,"inputResponses":{%q:{"action":"accept"}},%s}}`, made.Result.TaskID, key, withURL))
			for string(msg.ID) != "3" {
				msg = r.next()
			}
			e.approve(t, a)
		}
	}
	r.close()
}
