package httpserver_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
)

// quote returns s as JSON.
func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(data)
}

// FuzzLongFields: the worker answers any request of any length, and keeps its connection to
// the store.
func FuzzLongFields(f *testing.F) {
	shared := newEnv(f, answer("x"), httpserver.Options{})
	for _, n := range []int{1, 64, 65, 255, 256, 1024, 3900, 4000, 4096, 5000, 20_000} {
		for place := range 7 {
			f.Add(uint8(place), uint16(n), "x")
		}
	}
	f.Add(uint8(0), uint16(1), "*")
	f.Add(uint8(0), uint16(3), "a.")
	f.Add(uint8(1), uint16(1), ">")
	f.Fuzz(func(t *testing.T, place uint8, n uint16, text string) {
		at := *shared
		at.t = t // those of a target may not be called within it
		e := &at
		// A longer line of a request is answered by net/http itself.
		long := strings.Repeat(text, min(int(n), 24<<10/max(1, len(url.PathEscape(text)), len(url.QueryEscape(text)))))
		r := e.request("GET", "/v1/agents", "")
		switch place % 7 {
		case 0:
			r = e.request("GET", "/v1/sessions/"+url.PathEscape(long), "")
		case 1:
			r = e.request("GET", "/v1/sessions/"+url.PathEscape(long)+"/events", "")
		case 2:
			r = e.request("DELETE", "/v1/sessions/"+url.PathEscape(long), "")
		case 3:
			r = e.request("GET", "/v1/sessions/workspace/events?from="+url.QueryEscape(long), "")
		case 4:
			r.Header.Set("Last-Event-ID", strings.Map(func(c rune) rune {
				if c < ' ' || c >= 0x7f {
					return '_'
				}
				return c
			}, long))
		case 5:
			r = e.request("POST", "/v1/approvals", `{"approvalId":`+quote(long)+`,"approve":true}`)
		case 6:
			r = e.request("POST", "/v1/tasks?onDisconnect="+url.QueryEscape(long), `{"prompt":"p","agentType":`+quote(long)+`}`)
		}
		resp, body := e.do(r)
		if resp.StatusCode >= 500 || resp.StatusCode == 0 {
			t.Errorf("status %d: %.200s", resp.StatusCode, body)
		}
		if err := e.bus.Conn().Flush(); err != nil {
			t.Fatalf("the connection to the store: %v", err)
		}
	})
}
