package acpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
)

// TestMessages: what is no message, or too long, is answered as such, and the connection
// goes on. Notifications that nobody knows are not waited for at its end.
func TestMessages(t *testing.T) {
	e := newEnv(t, play(t, `{"text": "x"}`))
	to, from, end := e.serve(acpserver.Options{})
	answers := bufio.NewReader(from)
	long := strings.Repeat("x", 10_000_000)
	for _, tt := range []struct{ sent, want string }{
		{"{", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{"[]", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{"\"\\ud800\x00", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{`{"method":1,"id":1}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`},
		{"{}", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":"` + long + `"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"a message may have 10 MB`},
		{`{"method":"session/prompt","params":"` + long + `","id":1}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"call initialize first"`},
		{"\n \r\n" + `{"jsonrpc":"2.0","method":"$/unknown"}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":9}}`, `{"jsonrpc":"2.0","id":3,"result":{`},
	} {
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(to, tt.sent+"\n")
			wrote <- err
		}()
		got, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.100s: answered %q, %v; want %s", tt.sent, got, err, tt.want)
		}
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
	}
	end()
}

// TestCancelAtOnce: a cancellation that is read right behind its prompt cancels it.
func TestCancelAtOnce(t *testing.T) {
	e := newEnv(t, play(t, `{"match": {"user": "long"}, "hang": true, "repeat": true}
{"match": {"system": "You give a piece of work a title", "user": "long"}, "text": "Some work", "repeat": true}`))
	to, from, _ := e.serve(acpserver.Options{})
	answers := bufio.NewReader(from)
	call := func(lines string) (result struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	}) {
		t.Helper()
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(to, lines)
			wrote <- err
		}()
		for {
			line, err := answers.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ ID, Result json.RawMessage }
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			if m.ID != nil {
				if err := json.Unmarshal(m.Result, &result); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if err := <-wrote; err != nil {
					t.Fatal(err)
				}
				return result
			}
		}
	}
	call(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	id := call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", e.Root)).SessionID
	for n := range 5 {
		both := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"long"}]}}`+"\n", n+2, id) +
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id)
		if got := call(both).StopReason; got != "cancelled" {
			t.Errorf("stop reason %q", got)
		}
	}
}

// TestTwoSessions: sessions of one client run side by side, each with its own updates. The
// cancellation of one withdraws its question, and nothing of the other.
func TestTwoSessions(t *testing.T) {
	e := newEnv(t, touching)
	c := e.editor(acpserver.Options{})
	c.several = true
	one, two := c.begin(), c.begin()
	reasons := make(map[acp.SessionId]chan acp.StopReason)
	for _, id := range []acp.SessionId{one, two} {
		reasons[id] = make(chan acp.StopReason, 1)
		go func() {
			reason, err := c.prompt(id, "work")
			if err != nil {
				t.Error(err)
			}
			reasons[id] <- reason
		}()
		c.sees(string(id) + " call: primary › general asks to touch it (touch)")
	}
	c.sees("asked")
	if err := c.Cancel(t.Context(), acp.CancelNotification{SessionId: one}); err != nil {
		t.Fatal(err)
	}
	if reason := <-reasons[one]; reason != acp.StopReasonCancelled {
		t.Errorf("the cancelled one: %q", reason)
	}
	c.sees("withdrawn")
	pending, err := e.Sessions.Store().Approvals.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	if err := c.Cancel(t.Context(), acp.CancelNotification{SessionId: two}); err != nil {
		t.Fatal(err)
	}
	if reason := <-reasons[two]; reason != acp.StopReasonCancelled {
		t.Errorf("the other: %q", reason)
	}
	if lines := c.shown(); strings.Contains(lines, "touched") {
		t.Errorf("shown:\n%s", lines)
	}
}
