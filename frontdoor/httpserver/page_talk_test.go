package httpserver_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// TestPageTalk: what is said to a conversation while its agent works, waits, or has ended is
// read once.
func TestPageTalk(t *testing.T) {
	e := withPage(t, func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		last := req.Messages[len(req.Messages)-1]
		return answer("read "+last.Text)(ctx, req, yield)
	})
	e.loggedIn()
	updates, rows := e.open(e.bare("GET", "/page/events")), make(map[string]page.Row)
	say := func(path, body string, want int) string {
		r := e.request("POST", "/page/conversations"+path, body)
		r.Header.Del("Authorization")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		resp, answered := e.do(r)
		if resp.StatusCode != want {
			t.Errorf("%s %s: %d, want %d: %s", path, body, resp.StatusCode, want, answered)
		}
		return decode[struct{ SessionID string }](t, answered).SessionID
	}
	// waits returns when the agent of a session has read so many prompts, and works no more.
	waits := func(id string, texts ...string) {
		updates.rowsUntil(rows, func() bool {
			if rows[id].Doing != "idle" {
				return false
			}
			_, body := e.do(e.bare("GET", "/page/sessions/"+id))
			for _, text := range texts {
				if strings.Count(string(body), "<p>"+text+"</p>") != 1 {
					return false
				}
			}
			return true
		})
	}
	id := say("", `{"prompt":"one"}`, http.StatusOK)
	waits(id, "one", "read one")
	var both sync.WaitGroup
	for _, text := range []string{"two", "three"} {
		both.Go(func() {
			if at := say("/"+id, `{"message":"`+text+`"}`, http.StatusOK); at != id {
				t.Errorf("%s was said to %s", text, at)
			}
		})
	}
	both.Wait()
	waits(id, "one", "two", "three")
	if resp, body := e.do(e.request("DELETE", "/v1/sessions/"+id, "")); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	next := say("/"+id, `{"message":"four"}`, http.StatusOK)
	if next != record.ResumedID(id) {
		t.Errorf("the next run of %s is %s", id, next)
	}
	waits(next, "one", "two", "three", "four", "read four")
	if again := say("/"+id, `{"message":"five"}`, http.StatusOK); again != next {
		t.Errorf("what is said to the session that has ended goes to %s", again)
	}
	waits(next, "four", "five", "read five")

	say("", `{"prompt":" "}`, http.StatusBadRequest)
	say("", `{"prompt":"x","agent":"explore"}`, http.StatusBadRequest)
	say("/"+id, `{"message":""}`, http.StatusBadRequest)
	say("/ses_none", `{"message":"x"}`, http.StatusNotFound)
}
