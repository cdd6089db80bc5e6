package exttask

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRenaming: a notification gets its own name in the envelope, and its params stay the
// same.
func TestRenaming(t *testing.T) {
	for event, want := range map[string]string{
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"method\":\"notifications/message\"}}\n\n": "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"method\":\"notifications/message\"}}\n\n",
		"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"data: {\\\"jsonrpc\\\"\"}}\n\n":                                 "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"data: {\\\"jsonrpc\\\"\"}}\n\n",
		": a comment\n\n": ": a comment\n\n",
	} {
		w := httptest.NewRecorder()
		n, err := Renaming{w}.Write([]byte(event))
		if got := w.Body.String(); got != want || n != len(event) || err != nil {
			t.Errorf("%q: %q, %d, %v, want %q", event, got, n, err, want)
		}
	}
}

// FuzzKeepIDs: what is kept of any params is what they say, and nothing else of them
// changes.
func FuzzKeepIDs(f *testing.F) {
	for _, params := range []string{
		`{"notifications":{"taskIds":["ses_a","ses_b"]},"_meta":{"a":1}}`, `{"notifications":{"taskIds":["ses_a"]}}`,
		`{"notifications":{"taskIds":[]}}`, `{"notifications":{"taskIds":[7]}}`, `{"notifications":7}`, `{"_meta":7,"notifications":{"taskIds":["a"]}}`,
		`{"_meta":null,"notifications":{"taskIds":["a"]}}`, `null`, `[]`, `{`, "", `{"notifications":{"taskIds":["a"],"TaskIDs":["b"]}}`,
	} {
		f.Add([]byte(params))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		kept := KeepIDs(params)
		var before, after map[string]any
		if json.Unmarshal(params, &before) != nil || json.Unmarshal(kept, &after) != nil {
			if string(kept) != string(params) {
				t.Fatalf("%q became %q", params, kept)
			}
			return
		}
		meta, _ := after["_meta"].(map[string]any)
		ids := Asked(meta)
		if string(kept) == string(params) { // there was nothing to keep
			return
		}
		if len(ids) == 0 || len(ids) > maxIDs {
			t.Fatalf("%q: kept %q", params, ids)
		}
		delete(meta, keptIDs)
		was, _ := before["_meta"].(map[string]any)
		delete(was, keptIDs)
		if len(meta) != len(was) || len(was) > 0 && !reflect.DeepEqual(meta, was) {
			t.Fatalf("%q: the _meta became %v", params, meta)
		}
		delete(before, "_meta")
		delete(after, "_meta")
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", params, kept)
		}
	})
}

// FuzzDeclared: no _meta makes trouble, and one that lacks the version or the capabilities
// declares nothing.
func FuzzDeclared(f *testing.F) {
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	f.Add([]byte(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"` + ID + `":{}}}}`))
	f.Add([]byte(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":{"extensions":{"` + ID + `":null}}}`))
	f.Add([]byte(`{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}`))
	f.Add([]byte(`{"agentworker/taskIds":[1,null,"a",{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var meta mcp.Meta
		if json.Unmarshal(data, &meta) != nil {
			return
		}
		Asked(meta)
		for _, key := range []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientCapabilities} {
			less := maps.Clone(meta)
			delete(less, key)
			if Declared(less) {
				t.Fatalf("%q declares the extension without %s", data, key)
			}
		}
	})
}
