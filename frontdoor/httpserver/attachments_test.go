package httpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
)

// TestAttachments: the pictures of a call get to the model, and what is none is refused in clear
// words. No event has their bytes.
func TestAttachments(t *testing.T) {
	e := newEnv(t, doortest.Looking, httpserver.Options{})
	call := func(attachments ...string) string {
		body, err := json.Marshal(map[string]any{"description": "d", "prompt": "look", "agentType": "explore", "attachments": attachments})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, a := range doortest.Attachments(t) {
		r, body := e.do(e.request(http.MethodPost, "/v1/tasks", call(a.URL())))
		if want := map[bool]int{true: http.StatusBadRequest, false: http.StatusOK}[a.Refused]; r.StatusCode != want || !strings.Contains(string(body), a.Says) {
			t.Errorf("%s: %d %s, want %d, %q", a.Name, r.StatusCode, body, want, a.Says)
		}
		if a.Refused {
			continue
		}
		for _, ev := range e.stored(r.Header.Get("Agent-Session")) {
			if len(ev.Data) > 4000 || strings.Contains(ev.Data, "base64,") {
				t.Errorf("%s: an event has it: %.100s", a.Name, ev.Data)
			}
		}
	}
	large := "data:image/jpeg;base64," + strings.Repeat("A", 40<<20)
	if r, body := e.do(e.request(http.MethodPost, "/v1/tasks", call(large))); r.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), "name their paths in the workspace") {
		t.Errorf("30 MB: %d %s", r.StatusCode, body)
	}
}
