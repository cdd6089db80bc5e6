package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// FuzzCall sends a call of any tool with any arguments and whatever stands
// beside them. It gets one answer, and the connection goes on.
func FuzzCall(f *testing.F) {
	for _, tool := range []string{"task", "task_wait", "task_result", "task_send", "task_stop", "agents_list", "nope", ""} {
		for _, args := range []string{
			`{}`, `null`, `[]`, `"x"`, `7`, `{"description":"d","prompt":"p","agentType":"explore"}`,
			`{"description":"d","prompt":"p","agentType":"nobody"}`, `{"prompt":1}`, `{"sessionId":"ses_x","offset":-1}`,
			`{"sessionId":"ses_x","timeoutSeconds":1e9}`, `{"sessionId":"*"}`, `{"offset":2}`, `{"offset":1e99}`,
		} {
			f.Add(tool, args, "", "")
		}
	}
	f.Add("task", `{}`, "AAAA", `{"a":{"action":"accept"}}`)
	f.Add("task_wait", `{}`, "AAAA", `{"a":{"role":"user"}}`)
	f.Add("task", `{}`, "AAAA", `{"a":null}`)
	f.Add("task", `{}`, "", `7`)
	e := newEnv(f, modelFunc(echo), 0, nil)
	r := e.raw(f.Context(), f)
	r.initialize("2025-11-25")
	n := 1
	f.Cleanup(func() {
		if err := r.in.Close(); err != nil {
			f.Error(err)
		}
		r.end()
	})
	f.Fuzz(func(t *testing.T, tool, args, state, responses string) {
		r.t = t
		defer func() { r.t = f }()
		params := map[string]any{"name": tool}
		for field, text := range map[string]string{"arguments": args, "inputResponses": responses} {
			if json.Valid([]byte(text)) {
				params[field] = json.RawMessage(text)
			}
		}
		if state != "" {
			params["requestState"] = state
		}
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params})
		if err != nil {
			t.Fatal(err)
		}
		r.send(string(line), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n+1))
		want := map[string]bool{fmt.Sprint(n): true, fmt.Sprint(n + 1): true}
		n += 2
		for range 2 {
			id, result, failure := r.answer()
			if !want[id] || (result == nil) == (failure == nil) {
				t.Fatalf("%s: answer to %s: %s%s", line, id, result, failure)
			}
			delete(want, id)
			if strings.Contains(string(result), "internal error") {
				t.Fatalf("%s: %s", line, result)
			}
		}
	})
}

// FuzzLine sends any bytes, with whatever line ends are among them. What comes
// after them is served.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"", "rubbish", `{"jsonrpc":"2.0","id":7,"meth`, `{}`, "[]", "null", "\x00\xff",
		`{"jsonrpc":"2.0","id":7,"method":"tools/list"}` + "\r\n" + `{"jsonrpc":"2.0","id":"7","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"task","_meta":7}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task","_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task",` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task","arguments":{"description":"d","prompt":"p","agentType":"general"},` + taskMeta + `}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"ses_x",` + taskMeta + `}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/update","params":{"taskId":7,"inputResponses":{"a":null},` + taskMeta + `}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":null}`,
		`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["ses_x"]},` + taskMeta + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"timed out"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[],"reason":"timed out"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`,
	} {
		f.Add([]byte(line))
	}
	e := newEnv(f, modelFunc(echo), 0, nil)
	r := e.raw(f.Context(), f)
	r.initialize("2025-11-25")
	f.Cleanup(func() {
		if err := r.in.Close(); err != nil {
			f.Error(err)
		}
		for r.lines.Scan() { // what a line has asked for to the end
		}
		if err := <-r.served; err != nil {
			f.Error(err)
		}
	})
	n := 0
	f.Fuzz(func(t *testing.T, line []byte) {
		r.t = t
		defer func() { r.t = f }()
		n++
		id := fmt.Sprintf(`"ping of the fuzzer %d"`, n)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			if _, err := io.WriteString(r.in, string(line)+"\n"+`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`+"\n"); err != nil {
				t.Error(err)
			}
		}()
		for {
			got, result, failure := r.answer()
			if got == id && failure == nil {
				break
			}
			if got == id {
				t.Fatalf("%q: the ping after it: %s%s", line, result, failure)
			}
		}
		<-sent
	})
}
