package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// posted is the answer to a request of the newest protocol.
type posted struct {
	*http.Response
	lines *bufio.Scanner
}

// ask sends a request. name is for the header; empty means there is none.
func (w *web) ask(t testing.TB, method, name, params string) *posted {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.server.URL()+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", method)
	if name != "" {
		req.Header.Set("Mcp-Name", name)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return &posted{resp, bufio.NewScanner(resp.Body)}
}

// event returns the next message of a stream.
func (p *posted) event(t testing.TB) (msg taskMessage) {
	t.Helper()
	for p.lines.Scan() {
		if data, ok := strings.CutPrefix(p.lines.Text(), "data: "); ok && data != "" {
			if err := json.Unmarshal([]byte(data), &msg); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			return msg
		}
	}
	t.Fatalf("the stream has ended: %v", p.lines.Err())
	return msg
}

// message returns the one answer.
func (p *posted) message(t testing.TB) (msg taskMessage) {
	t.Helper()
	defer p.Body.Close()
	if strings.HasPrefix(p.Header.Get("Content-Type"), "text/event-stream") {
		return p.event(t)
	}
	body, err := io.ReadAll(p.Body)
	if err == nil {
		err = json.Unmarshal(body, &msg)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", p.Status, body, err)
	}
	return msg
}

// TestHandle: a client that sends a handle of the server has a session of its own, with its
// children. An unknown handle is refused.
func TestHandle(t *testing.T) {
	w := newEnv(t, modelFunc(echo), 0, nil).web(t, nil)
	with := func(handle string) string {
		return strings.Replace(modernMeta, `"_meta":{`, fmt.Sprintf(`"_meta":{"agentworker/handle":%q,`, handle), 1)
	}
	const task = `"name":"task","arguments":{"description":"d","prompt":"p","agentType":"general"},`
	var handles []string
	for range 2 {
		handle, _ := w.ask(t, "server/discover", "", modernMeta).message(t).Result.Meta["agentworker/handle"].(string)
		handles = append(handles, handle)
		if got := w.ask(t, "tools/call", "task", task+with(handle)).message(t); len(got.Result.Content) != 1 {
			t.Fatalf("with the handle %q: %+v", handle, got)
		}
	}
	if handles[0] == handles[1] || len(handles[0]) < 26 {
		t.Fatalf("the handles %q", handles)
	}
	w.ask(t, "tools/call", "task", task+with(handles[1])).message(t)
	for handle, want := range map[string]int{handles[0]: 1, handles[1]: 2} {
		got := w.ask(t, "tools/call", "task_list", `"name":"task_list","arguments":{},`+with(handle)).message(t)
		if len(got.Result.Content) != 1 || strings.Count(got.Result.Content[0].Text, "ses_") != want {
			t.Errorf("of %s: %+v, want %d", handle, got.Result, want)
		}
	}
	if refused := w.ask(t, "tools/call", "task", task+with("mine")); refused.message(t).Error.Code != -32602 || refused.StatusCode != http.StatusBadRequest {
		t.Errorf("one that was not given out: %s", refused.Status)
	}
}
