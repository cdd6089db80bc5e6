package acpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzMessages: whatever a client writes, the SDK gets one message per line, and each can be
// decoded or is an error.
func FuzzMessages(f *testing.F) {
	f.Add("{}\n[]\n" + `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"x"}]}}`)
	f.Add(`{"id":"a","method":"session/set_config_option","params":{"sessionId":"s","configId":"agent","value":true}}` + "\n\n")
	f.Add(`{"id":{"a":1},"method":"session/new","params":{"cwd":"/","mcpServers":[{"type":"http"},{"command":1}]}}`)
	f.Add(`{"id":null,"method":"session/cancel","params":[]}` + "\x00")
	f.Fuzz(func(t *testing.T, text string) {
		c := newConnection(newClient(t.Context(), New(Options{}), io.Discard))
		defer c.shut()
		defer c.out.close()
		c.talks["s"] = &talk{client: c.client, id: "s"}
		close(c.ready)
		handed, err := io.ReadAll(newInput(c.client, strings.NewReader(text), c.cancellation))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(handed) {
			var m message
			if err := json.Unmarshal(line, &m); err != nil || len(bytes.TrimSpace(line)) == 0 {
				t.Errorf("handed on %q: %v", line, err)
			}
			if do := methods[m.Method]; do != nil {
				if _, err := do(c, context.Background(), m.Params); err == nil && m.Method != "initialize" {
					t.Errorf("%s before initialize", m.Method)
				}
				c.is.Store(nil)
			}
		}
	})
}
