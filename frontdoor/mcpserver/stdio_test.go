package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
)

// TestBlockedWrite: a host that does not read holds up neither a caller whose
// context ends nor the end of the connection, and gets whole lines only.
func TestBlockedWrite(t *testing.T) {
	in, inEnd := io.Pipe()
	outEnd, out := io.Pipe()
	conn, err := (&mcpserver.Stdio{In: in, Out: out}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ping := &jsonrpc.Request{Method: "ping"}
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- conn.Write(ctx, ping) }()
	first := make([]byte, 1)
	if _, err := outEnd.Read(first); err != nil { // the write is under way
		t.Fatal(err)
	}
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("Write with a cancelled context: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- conn.Write(t.Context(), ping) }()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("Write to a closed connection: %v", err)
	}
	if _, err := conn.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("Read of a closed connection: %v", err)
	}
	if _, err := inEnd.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the input is still open: %v", err)
	}
	rest := make([]byte, 100)
	n, err := outEnd.Read(rest)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(first) + string(rest[:n]); got != `{"jsonrpc":"2.0","method":"ping"}`+"\n" {
		t.Errorf("the host got %q", got)
	}
}

// FuzzServe: whatever a host sends, the connection ends in order with its
// input.
func FuzzServe(f *testing.F) {
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}` + "\n"
	f.Add([]byte(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"))
	f.Add([]byte(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{"prompt":"p","agentType":"explore"},"_meta":{"progressToken":1}}}` + "\n"))
	f.Add([]byte(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agents_list","arguments":null,"_meta":{"progressToken":{}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n[]\n{}\n"))
	f.Add([]byte(hello + `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	e := newEnv(f, modelFunc(echo), 0, nil)
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := e.server.Serve(t.Context(), &mcpserver.Stdio{In: io.NopCloser(bytes.NewReader(input)), Out: io.Discard}); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}
