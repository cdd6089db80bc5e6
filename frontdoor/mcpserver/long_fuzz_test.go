package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// FuzzLongFields: a call with any arguments of any length gets an answer that is shorter,
// and the worker keeps its connection to the store.
func FuzzLongFields(f *testing.F) {
	fields := []struct{ tool, arguments string }{
		{"task", `{"description":"d","prompt":"p","agentType":%s}`},
		{"task", `{"description":%s,"prompt":"p","agentType":"explore"}`},
		{"task", `{"description":"d","prompt":"p","agentType":"explore",%s:1}`},
		{"task_wait", `{"sessionId":%s}`},
		{"task_wait", `{"sessionId":"ses_x","attempt":%s}`},
		{"task_result", `{"sessionId":%s,"offset":3}`},
		{"task_result", `{"sessionId":"ses_x","offset":%s}`},
		{"task_stop", `{"sessionId":%s}`},
		{"agents_list", `{"offset":%s}`},
	}
	for _, n := range []int{1, 64, 65, 255, 256, 3900, 4000, 4096, 60_000} {
		for place := range fields {
			f.Add(uint8(place), uint16(n), "x")
		}
	}
	for place := range fields {
		f.Add(uint8(place), uint16(1), "*")
		f.Add(uint8(place), uint16(2000), "a.>")
		f.Add(uint8(place), uint16(2000), "\x00 \r\nPUB é")
	}
	e := newEnv(f, modelFunc(echo), 0, nil)
	r := e.raw(f.Context(), f)
	r.initialize("2025-11-25")
	id := 1
	f.Cleanup(func() {
		if err := r.in.Close(); err != nil {
			f.Error(err)
		}
		r.end()
	})
	f.Fuzz(func(t *testing.T, place uint8, n uint16, text string) {
		r.t = t
		defer func() { r.t = f }()
		field := fields[int(place)%len(fields)]
		long, err := json.Marshal(strings.Repeat(text, min(int(n), 256<<10/max(1, len(text)))))
		if err != nil {
			t.Fatal(err)
		}
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			id, field.tool, fmt.Sprintf(field.arguments, long)))
		result, failure := r.expect(fmt.Sprint(id))
		id++
		if result == nil || len(result) > 8_000 {
			t.Errorf("%s: %d bytes for %d: %.300s%.300s", field.tool, len(result), len(long), result, failure)
		}
		if err := e.bus.Conn().Flush(); err != nil {
			t.Fatalf("the connection to the store: %v", err)
		}
	})
}
