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

// ask sends a request. name is that of the header; empty means there is none.
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
