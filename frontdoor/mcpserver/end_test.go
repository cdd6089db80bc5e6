package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestCancel: a call that the host cancels ends its child, and no other.
func TestCancel(t *testing.T) {
	begun := make(chan string)
	e := newEnv(t, hang(begun), 0, nil)
	host := e.connect(t, nil)
	type outcome struct {
		res *mcp.CallToolResult
		err error
	}
	start := func(ctx context.Context, prompt string) <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			res, err := host.CallTool(ctx, call("explore", prompt))
			done <- outcome{res, err}
		}()
		if got := <-begun; got != prompt {
			t.Fatalf("%q has begun, want %q", got, prompt)
		}
		return done
	}
	ctxA, cancelA := context.WithCancel(t.Context())
	a := start(ctxA, "a")
	ctxB, cancelB := context.WithCancel(t.Context())
	b := start(ctxB, "b")
	cancelA()
	if got := <-a; !errors.Is(got.err, context.Canceled) {
		t.Errorf("a: %v, %v, want it cancelled", got.res, got.err)
	}
	e.awaitStatuses(t, "explore running, explore cancelled, - running")
	select {
	case got := <-b:
		t.Errorf("b ended with a: %v, %v", got.res, got.err)
	default:
	}
	cancelB()
	<-b
	e.awaitStatuses(t, "explore cancelled, explore cancelled, - running")
}

// awaitStatuses follows the first root's stream until the sessions are in
// these states.
func (e *env) awaitStatuses(t *testing.T, want string) {
	t.Helper()
	records := e.records(t)
	root := records[len(records)-1]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range e.bus.Follow(ctx, root.Path, followLive) {
		if err != nil {
			t.Fatalf("%v; sessions: %s, want %s", err, e.statuses(t), want)
		}
		if e.statuses(t) == want {
			return
		}
	}
}

// raw is a connection without the SDK: what goes over the wire.
type raw struct {
	*wire
	t     testing.TB
	lines *bufio.Scanner
}

func (e *env) raw(ctx context.Context, t testing.TB) *raw {
	w := e.serve(ctx, t)
	lines := bufio.NewScanner(w.out)
	lines.Buffer(nil, 32<<20)
	return &raw{w, t, lines}
}

func (r *raw) send(lines ...string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, strings.Join(lines, "\n")+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// answer returns the next message that is an answer.
func (r *raw) answer() (id string, result, failure json.RawMessage) {
	r.t.Helper()
	for r.lines.Scan() {
		var msg struct {
			ID            json.RawMessage
			Method        string
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal(r.lines.Bytes(), &msg); err != nil {
			r.t.Fatalf("stdout has %q, which is no message: %v", r.lines.Text(), err)
		}
		if msg.Method == "" {
			return string(msg.ID), msg.Result, msg.Error
		}
	}
	r.t.Fatalf("the output has ended: %v", r.lines.Err())
	return "", nil, nil
}

// expect wants the next answer to be to this request.
func (r *raw) expect(id string) (result, failure json.RawMessage) {
	r.t.Helper()
	got, result, failure := r.answer()
	if got != id {
		r.t.Fatalf("an answer to %s (%.300s%.300s), want one to %s", got, result, failure, id)
	}
	return result, failure
}

func (r *raw) initialize(version string) {
	r.t.Helper()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, version))
	result, _ := r.expect("0")
	if !strings.Contains(string(result), `"protocolVersion":"`+version+`"`) {
		r.t.Fatalf("initialize with %s: %s", version, result)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end wants the connection to have ended in order, with nothing more said.
func (r *raw) end() {
	r.t.Helper()
	for r.lines.Scan() {
		r.t.Errorf("after the end: %s", r.lines.Text())
	}
	if err := <-r.served; err != nil {
		r.t.Errorf("Serve: %v, want nil", err)
	}
}

const callLine = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"p","agentType":"explore"}}}`

// TestVersions: every generation of the protocol can list and call.
func TestVersions(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		r := e.raw(t.Context(), t)
		r.initialize(version)
		r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if result, _ := r.expect("1"); !strings.Contains(string(result), `"enum":["explore","general"]`) {
			t.Errorf("%s: tools/list: %.600s", version, result)
		}
		r.send(fmt.Sprintf(callLine, 2))
		if result, _ := r.expect("2"); !strings.Contains(string(result), "answer to p") {
			t.Errorf("%s: tools/call: %.600s", version, result)
		}
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		r.end()
	}
	// From 2026-07-28 on there is no handshake.
	r := e.raw(t.Context(), t)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"2"}}`
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"p","agentType":"explore"},` + meta + `}}`)
	if result, _ := r.expect("1"); !strings.Contains(string(result), "answer to p") {
		t.Errorf("2026-07-28: tools/call: %.600s", result)
	}
	r.send(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`)
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	for r.lines.Scan() { // the subscription's own messages
	}
	if err := <-r.served; err != nil {
		t.Errorf("2026-07-28: Serve: %v", err)
	}
}

// TestRubbish: invalid lines are skipped, and refused if they have an id. The lines after
// them are served.
func TestRubbish(t *testing.T) {
	tests := []struct{ name, line, refused string }{
		{"text", `hello`, ""},
		{"nothing", "", ""},
		{"spaces", "  \t\r", ""},
		{"a number", `42`, ""},
		{"an empty object", `{}`, ""},
		{"half a message", `{"jsonrpc":"2.0","id":7,"meth`, ""},
		{"bytes", "\x00\xff\xfe{\"a", ""},
		{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, ""},
		{"two messages on a line", `{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`, ""},
		{"a deep nest", strings.Repeat("[", 100_000), ""},
		{"17 MiB", strings.Repeat("x", 17<<20), ""},
		{"another version of JSON-RPC", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, "7"},
		{"a method that is not text", `{"jsonrpc":"2.0","id":"x","method":1}`, `"x"`},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, "7"},
		{"a call without params", `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, "7"},
		{"a call with null params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}`, "7"},
		{"a call with a list for params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`, "7"},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/nope"}`, ""},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`, ""},
		{"the cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, ""},
		{"a cancellation without id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, ""},
		{"a cancellation with an object for id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, ""},
	}
	e := newEnv(t, modelFunc(echo), 0, nil)
	r := e.raw(t.Context(), t)
	r.initialize("2025-11-25")
	for i, tt := range tests {
		r.send(tt.line)
		if tt.refused != "" {
			if _, failure := r.expect(tt.refused); failure == nil {
				t.Errorf("%s: not refused", tt.name)
			}
		}
		id := fmt.Sprint(1000 + i)
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if result, failure := r.expect(id); failure != nil {
			t.Fatalf("after %s: ping is answered with %s %s", tt.name, result, failure)
		}
	}
	// The last line has no end, and is a message all the same.
	if _, err := io.WriteString(r.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); err != nil {
		t.Fatal(err)
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	r.expect("1")
	r.end()
}

// TestPiped: a file of requests on stdin is answered before the end.
func TestPiped(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	r := e.raw(t.Context(), t)
	go func() {
		_, err := io.WriteString(r.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
`)
		if err := errors.Join(err, r.in.Close()); err != nil {
			t.Error(err)
		}
	}()
	r.expect("0")
	r.expect("1")
	r.end()
}

// TestEnd: the end of the input and the end of the context cancel the calls
// that run, answer them, and end the sessions.
func TestEnd(t *testing.T) {
	for _, how := range []string{"end of input", "end of context"} {
		t.Run(how, func(t *testing.T) {
			begun := make(chan string)
			e := newEnv(t, hang(begun), 0, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := e.raw(ctx, t)
			r.initialize("2025-11-25")
			r.send(fmt.Sprintf(callLine, 1), fmt.Sprintf(callLine, 2))
			<-begun
			<-begun
			if how == "end of input" {
				if err := r.in.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
			}
			for range 2 {
				if id, result, _ := r.answer(); !strings.Contains(string(result), "the task was cancelled") || !strings.Contains(string(result), `"isError":true`) {
					t.Errorf("call %s: %s", id, result)
				}
			}
			r.end()
			if got, want := e.statuses(t), "explore cancelled, explore cancelled, - completed"; got != want {
				t.Errorf("sessions: %s, want %s", got, want)
			}
		})
	}
}
